import { reuse, type Steps, usableMemory } from '../../core/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { KeptItems, RouteItems } from '../kept-parts.ts';
import type * as model from '../model/index.ts';
import { Requirements } from '../policies/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import type { EffectiveConfig } from '../schema/index.ts';
import {
  compileSettings,
  type GatewayConfig,
  ownRoutesOf,
  type Secrets,
  type SettingContext,
  type WrittenElsewhere,
} from '../settings/index.ts';
import type { Outline, Snapshot } from '../snapshot.ts';
import { compileLabels } from './compile-labels.ts';
import { descriptorsOf, memoryOf } from './memory-use.ts';

export interface Sources extends Pick<SettingContext, 'machine' | 'limits' | 'namedGlobals' | 'apiKeys'> {
  /** Its routes are those that its settings depend on: one of each kind. */
  readonly gateway: GatewayConfig;
  readonly items: KeptItems & { readonly routes: RouteItems };
  readonly secrets: Secrets;
  readonly settings: Outline['settings'];
  readonly effective: EffectiveConfig;
  /** Where the routes of gateway.yaml and the keys of limits.yaml are written. */
  readonly places: { readonly routes: readonly FilePlace[]; readonly limits: KeyPlaces };
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
  const { gateway: config, machine, limits, namedGlobals, apiKeys, items, secrets, hash, files } = sources;
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
  const descriptors = descriptorsOf(written, machine.descriptorLimit);
  const { connections, requests, refusedConnections } = descriptors;
  const caps = Object.freeze({ ...written.caps, connections, requests, refusedConnections });
  const settings = { ...written, caps };
  const labels = yield* compileLabels(settings, ownRoutes, before?.labels ?? null);
  return {
    ...settings,
    generation,
    hash,
    files,
    memory: memoryOf(settings, config.access_tokens?.cache.tokens ?? 0, usableMemory(machine)),
    descriptors,
    outline: outlineOf(sources, settings.keptRoutes.all, ownRoutes),
    labels: labels.model.part,
    kept: { items: { buckets: items.buckets, lines: items.lines }, ownRoutes: own, labels },
  };
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
