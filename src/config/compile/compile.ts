import { type Machine, reuse, type Steps, usableMemory } from '../../core/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { KeptItems, RouteItems } from '../kept-parts.ts';
import type { LimitsConfig } from '../limits/index.ts';
import type * as model from '../model/index.ts';
import { Requirements } from '../policies/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import type { EffectiveConfig } from '../schema/index.ts';
import {
  compileSettings,
  type GatewayConfig,
  ownRoutesOf,
  type Secrets,
  type WrittenElsewhere,
} from '../settings/index.ts';
import type { Outline, Snapshot } from '../snapshot.ts';
import { compileLabels } from './compile-labels.ts';
import { descriptorsOf, memoryOf } from './memory-use.ts';

export interface Sources {
  /** Its routes are those that its settings depend on: one of each kind. */
  readonly gateway: GatewayConfig;
  readonly apiKeys: readonly ApiKeyLine[];
  readonly limits: LimitsConfig;
  readonly items: KeptItems & { readonly routes: RouteItems };
  readonly secrets: Secrets;
  /** What the process may use. */
  readonly machine: Machine;
  readonly settings: Outline['settings'];
  readonly effective: EffectiveConfig;
  /** Where the routes of gateway.yaml and the keys of limits.yaml are written. */
  readonly places: { readonly routes: readonly FilePlace[]; readonly limits: KeyPlaces };
  /** The keys that a limits file has under `global`, and those under its `classes`. */
  readonly namedGlobals: readonly string[];
  readonly hash: string;
  /** The names of these files: gateway.yaml, then the limits files. */
  readonly files: readonly string[];
}

/**
 * Compiles a valid configuration for the data plane.
 *
 * @param previous the configuration in use; `null` if there was none
 */
export function* compileGateway(
  sources: Sources,
  generation: number,
  previous: Snapshot | null = null,
): Steps<Snapshot> {
  const before = previous?.kept ?? null;
  const { gateway: config, limits, apiKeys, items, secrets, machine, hash, files, namedGlobals } = sources;
  const elsewhere: WrittenElsewhere = {
    // All keys are there: the type shows those of the setting that is asked for.
    written: () => config as never,
    requirements: new Requirements(config.routes),
    certificateFields: certificateFields(secrets.listenerTls),
  };
  const own = reuse(before?.ownRoutes, ownRoutesOf(config, elsewhere, secrets), same => same);
  const ownRoutes = own.part;
  const written = yield* compileSettings(
    config,
    {
      ...elsewhere,
      gatewayFile: files[0] ?? '',
      machine,
      limits,
      namedGlobals,
      apiKeys,
      routeItems: items.routes,
      ownRoutes,
      before: previous,
    },
    secrets,
  );
  yield;
  const { keptRoutes, keptLimits, upstreams } = written;
  const { entries } = keptRoutes;
  const parts = { upstreams, routes: entries.map(({ value }) => value) };
  const descriptors = descriptorsOf({ ...written, ...parts }, machine.descriptorLimit);
  const { connections, requests, refusedConnections } = descriptors;
  const caps = Object.freeze({ ...written.caps, connections, requests, refusedConnections });
  const settings = { ...written, caps };
  const labels = yield* compileLabels(
    {
      listen: settings.listen,
      upstreams: upstreams.map(({ name }) => name),
      routes: entries,
      table: settings.routes,
      ownRoutes,
      limits: settings.limits,
      limitRoutes: keptLimits.table.key,
      identity: settings.identity,
      metrics: settings.metrics,
    },
    before?.labels ?? null,
  );
  return {
    ...settings,
    generation,
    hash,
    files,
    memory: memoryOf(
      {
        ...settings,
        ...parts,
        maxTokens: (config.access_tokens?.cache.tokens ?? 0) * tokenTablesIn(settings.identity),
      },
      usableMemory(machine),
    ),
    descriptors,
    outline: outlineOf(sources, keptRoutes.all, ownRoutes),
    labels: labels.model.part,
    kept: { items: { buckets: items.buckets, lines: items.lines }, ownRoutes: own, labels },
  };
}

/** One for each provider, and one more for opaque tokens. */
function tokenTablesIn(identity: model.IdentityModel | null): number {
  const providers = identity?.providers ?? [];
  return providers.length + providers.filter(({ opaqueTokens }) => opaqueTokens !== null).length;
}

function outlineOf(
  { settings, limits, places, effective }: Sources,
  byRoute: readonly (readonly RouteEntry<model.RouteOfFile>[])[],
  ownRoutes: readonly RouteEntry<model.OwnRoute>[],
): Outline {
  const written = byRoute.flatMap((entries, index) => {
    const place = places.routes[index];
    return place === undefined ? [] : entries.map(entry => ({ ...entry, place }));
  });
  return { settings, routes: written, ownRoutes, limits, places: places.limits, effective };
}

/** Header fields for verified client certificates (RFC 9440): only the gateway may write them. */
function certificateFields({ http, grpc }: Secrets['listenerTls']): readonly string[] {
  const isAsked = [http, grpc].some(tls => tls?.clientCertificates);
  return isAsked ? ['Client-Cert', 'Client-Cert-Chain'] : [];
}
