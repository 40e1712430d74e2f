import {
  eachInSteps,
  type Kept,
  type Machine,
  reuse,
  reuseInSteps,
  type Steps,
  usableMemory,
} from '../../core/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { KeptItems, KeptParts, KeptTables } from '../kept-parts.ts';
import { type LimitsConfig, readLines } from '../limits/index.ts';
import type * as model from '../model/index.ts';
import { Requirements } from '../policies/index.ts';
import { PathWords, type RouteEntry, RouteTable } from '../routing/index.ts';
import type { EffectiveConfig } from '../schema/index.ts';
import {
  compileSettings,
  compileUpstreams,
  type GatewayConfig,
  ownRoutesOf,
  type RouteConfig,
  type Secrets,
  SIGN_IN_PREFIX,
  type WrittenElsewhere,
} from '../settings/index.ts';
import type { Outline, Snapshot } from '../snapshot.ts';
import { compileLabels } from './compile-labels.ts';
import { compileRoute, namedMethods, preflightRoutes, tokensInUrls, webhookPaths } from './compile-routes.ts';
import { descriptorsOf, memoryOf } from './memory-use.ts';

export interface Sources {
  /** Its routes are those that its settings depend on: one of each kind. */
  readonly gateway: GatewayConfig;
  readonly apiKeys: readonly ApiKeyLine[];
  readonly limits: LimitsConfig;
  readonly items: KeptItems & {
    /** The routes of gateway.yaml, each read once it is needed. */
    readonly routes: {
      readonly bytes: Uint8Array;
      all(): Iterable<{ readonly key: string; read(): unknown }>;
    };
  };
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
  const { gateway: config, limits, apiKeys, items, secrets, machine, hash, files } = sources;
  const requirements = new Requirements(config.routes);
  const keptRoutes = yield* compileRoutes(sources, requirements, before);
  const upstreams = keptRoutes.upstreams.part;
  const routes = keptRoutes.routes.all.flat();
  const lines = yield* readLines(limits.routes, before?.lines);
  const elsewhere: WrittenElsewhere = {
    // All keys are there: the type shows those of the setting that is asked for.
    written: () => config as never,
    requirements,
    certificateFields: certificateFields(secrets.listenerTls),
  };
  const own = reuse(before?.ownRoutes, ownRoutesOf(config, elsewhere, secrets), same => same);
  const ownRoutes = own.part;
  const tables = yield* reuseInSteps<RouteEntry<model.RouteModel>, KeptTables['part']>(
    before?.upstreams === keptRoutes.upstreams ? before.tables : null,
    [...routes, ...ownRoutes],
    () => compileTables(routes, ownRoutes, config.cors === 'off'),
  );
  const ofRoutes = [routes, ownRoutes].map(each => each.map(({ pattern }) => pattern));
  const patterns = [...ofRoutes.flat(), ...lines.part.patterns.values()];
  const words = yield* reuseInSteps(before?.words, patterns, () => PathWords.inSteps(patterns));
  const written = yield* compileSettings(
    config,
    {
      ...elsewhere,
      gatewayFile: files[0] ?? '',
      machine,
      limits,
      lines: lines.part,
      namedGlobals: sources.namedGlobals,
      limitsBefore: previous?.keptLimits,
      apiKeys,
      webSockets: routes.some(({ value }) => value.kind === 'forward' && value.websocket !== null),
      patterns,
      words: words.part,
    },
    secrets,
  );
  yield;
  const parts = { upstreams: [...upstreams.values()], routes: routes.map(({ value }) => value) };
  const descriptors = descriptorsOf({ ...written, ...parts }, machine.descriptorLimit);
  const { connections, requests, refusedConnections } = descriptors;
  const caps = Object.freeze({ ...written.caps, connections, requests, refusedConnections });
  const settings = { ...written, caps };
  const labels = yield* compileLabels(
    {
      listen: settings.listen,
      upstreams: upstreams.keys(),
      routes,
      table: tables.part.routes,
      ownRoutes,
      limits: settings.limits,
      limitRoutes: settings.keptLimits.table.key,
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
    tokensInUrls: tokensInUrls(routes),
    webhookPaths: webhookPaths(routes),
    upstreams: [...upstreams.values()],
    ...tables.part,
    namedMethods: namedMethods(routes),
    takesOddPaths: routes.some(
      ({ value }) => value.encodedSlashes !== 'refuse' || value.emptySegments !== 'refuse',
    ),
    memory: memoryOf(
      {
        ...settings,
        ...parts,
        maxTokens: (config.access_tokens?.cache.tokens ?? 0) * tokenTablesIn(settings.identity),
      },
      usableMemory(machine),
    ),
    descriptors,
    outline: outlineOf(sources, keptRoutes.routes.all, ownRoutes),
    labels: labels.model.part,
    kept: {
      items: { buckets: items.buckets, lines: items.lines },
      ...keptRoutes,
      ownRoutes: own,
      tables,
      lines,
      words,
      labels,
    },
  };
}

/** Compiles the routes whose text is new, or all of them if anything changed that they may depend on. */
function* compileRoutes(
  { gateway: config, items, secrets }: Sources,
  requirements: Requirements,
  before: KeptParts | null,
): Steps<Pick<KeptParts, 'upstreams' | 'routes'>> {
  const { routes: _, ...others } = config;
  const upstreams = reuse(before?.upstreams, [others, secrets, requirements.all], () =>
    compileUpstreams(config.upstreams, secrets),
  );
  const known = upstreams === before?.upstreams ? before.routes : null;
  const { bytes } = items.routes;
  if (known !== null && Buffer.compare(known.bytes, bytes) === 0)
    return { upstreams, routes: { ...known, bytes } };
  const byKey = new Map<string, Kept<string, readonly RouteEntry<model.RouteOfFile>[]>>();
  const all = yield* eachInSteps(items.routes.all(), ({ key, read }) => {
    const kept = reuse(known?.byKey.get(key), key, () =>
      compileRoute(read() as RouteConfig, config, upstreams.part, requirements),
    );
    byKey.set(key, kept);
    return kept.part;
  });
  return { upstreams, routes: { bytes, byKey, all } };
}

function* compileTables(
  routes: readonly RouteEntry<model.RouteOfFile>[],
  ownRoutes: readonly RouteEntry<model.OwnRoute>[],
  isCorsOff: boolean,
): Steps<KeptTables['part']> {
  const preflights = isCorsOff ? [] : yield* preflightRoutes(routes);
  return {
    routes: yield* RouteTable.inSteps<model.RouteModel>([...routes, ...ownRoutes], [SIGN_IN_PREFIX]),
    preflightRoutes: yield* RouteTable.inSteps(preflights, [SIGN_IN_PREFIX]),
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
