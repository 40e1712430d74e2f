import {
  eachInSteps,
  hasSameItems,
  isSame,
  type Kept,
  type Machine,
  reuse,
  type Steps,
  usableMemory,
} from '../../core/index.ts';
import { PathWords, type RouteEntry, RouteTable } from '../../gateway/routing/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import { ForwardingRules } from '../../wire/http/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type * as model from '../model/index.ts';
import { claimFieldsIn, Requirements } from '../policies/index.ts';
import type { EffectiveConfig, LimitsConfig } from '../schema/index.ts';
import {
  compileSettings,
  compileUpstreams,
  type GatewayConfig,
  type RouteConfig,
  type Secrets,
} from '../settings/index.ts';
import { claimsOf, compileIdentity } from './compile-identity.ts';
import { compileLabels } from './compile-labels.ts';
import { compileLimits } from './compile-limits.ts';
import {
  compileRoute,
  namedMethods,
  ownRoutesOf,
  preflightRoutes,
  SIGN_IN_PREFIX,
  tokensInUrls,
  webhookPaths,
} from './compile-routes.ts';
import { defaultLimitsOf } from './default-limits.ts';
import { descriptorsOf, memoryOf } from './memory-use.ts';

export interface Sources {
  /** Its routes are those that its settings depend on: one of each kind. */
  readonly gateway: GatewayConfig;
  readonly apiKeys: readonly ApiKeyLine[];
  readonly limits: LimitsConfig;
  readonly items: model.KeptItems & {
    /** The routes of gateway.yaml, each read once it is needed. */
    readonly routes: {
      readonly bytes: Uint8Array;
      all(): Iterable<{ readonly key: string; read(): unknown }>;
    };
  };
  readonly secrets: Secrets;
  /** What the process may use. */
  readonly machine: Machine;
  readonly settings: model.Outline['settings'];
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
 * @param before what was compiled of the previous configuration; `null` if there was none
 */
export function* compileGateway(
  sources: Sources,
  generation: number,
  before: model.KeptParts | null = null,
): Steps<model.Snapshot> {
  const { gateway: config, limits, apiKeys, secrets, machine, hash, files } = sources;
  const { access_tokens: tokens } = config;
  const requirements = new Requirements(config.routes);
  const keptRoutes = yield* compileRoutes(sources, requirements, before);
  const upstreams = keptRoutes.upstreams.part;
  const entries = keptRoutes.routes.all.flat();
  const routes =
    before !== null && hasSameItems(before.tables.entries, entries) ? before.tables.entries : entries;
  const compiledLimits = yield* compileLimits(limits, claimsOf(config), before?.limits);
  const identity = compileIdentity(config, limits, { providers: secrets.providers, apiKeys }, requirements);
  const proofs = identity !== null && identity.dpop !== null;
  yield;
  const ofCertificates = certificateFields(secrets.listenerTls);
  const ownRoutes = ownRoutesOf(config, identity, requirements, ofCertificates.length > 0);
  const isCorsOff = config.cors === 'off';
  const tables = yield* compileTables(
    { routes, ownRoutes, lines: compiledLimits.kept.entries, isCorsOff },
    before?.upstreams === keptRoutes.upstreams ? before.tables : null,
  );
  const written = compileSettings(
    config,
    {
      gatewayFile: files[0] ?? '',
      machine,
      headers: limits.headers,
      proofs,
      countsInMemory: config.store === 'memory',
      webSockets: routes.some(({ value }) => value.kind === 'forward' && value.websocket !== null),
      routes: [...routes, ...compiledLimits.kept.entries],
      words: tables.words,
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
      table: tables.routes,
      ownRoutes,
      limits: compiledLimits.model,
      limitRoutes: compiledLimits.kept.entries,
      identity,
      metrics: settings.metrics,
    },
    before?.labels ?? null,
  );
  const { buckets, lines } = sources.items;
  return {
    ...settings,
    generation,
    hash,
    files,
    forwarding: new ForwardingRules({
      ...config.forwarding_headers,
      traces: config.tracing !== null,
      certificate: tokens?.certificate_field ?? null,
      apiKey: config.api_keys?.header ?? null,
      proofs,
      own: [
        ...Object.keys(tokens?.identity_headers ?? {}),
        ...(settings.sentFields ?? []).filter(name => name !== 'X-Forwarded-Port'),
        ...config.routes.flatMap(({ request_headers: edits }) => claimFieldsIn(edits)),
        ...ofCertificates,
      ],
    }),
    tokensInUrls: tokensInUrls(routes),
    webhookPaths: webhookPaths(routes),
    upstreams: [...upstreams.values()],
    routes: tables.routes,
    preflightRoutes: tables.preflightRoutes,
    namedMethods: namedMethods(routes),
    takesOddPaths: routes.some(
      ({ value }) => value.encodedSlashes !== 'refuse' || value.emptySegments !== 'refuse',
    ),
    limits: compiledLimits.model,
    defaultLimits: defaultLimitsOf(compiledLimits.model, sources.namedGlobals),
    identity,
    memory: memoryOf(
      {
        ...settings,
        ...parts,
        maxTokens: (tokens?.cache.tokens ?? 0) * tokenTablesIn(identity),
      },
      usableMemory(machine),
    ),
    descriptors,
    outline: outlineOf(sources, keptRoutes.routes.all, ownRoutes),
    labels: labels.model,
    kept: { items: { buckets, lines }, ...keptRoutes, tables, limits: compiledLimits.kept, labels },
  };
}

/** Compiles the routes whose text is new, or all of them if anything changed that they may depend on. */
function* compileRoutes(
  { gateway: config, items, secrets }: Sources,
  requirements: Requirements,
  before: model.KeptParts | null,
): Steps<Pick<model.KeptParts, 'upstreams' | 'routes'>> {
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

interface TableSources {
  readonly routes: readonly RouteEntry<model.RouteOfFile>[];
  readonly ownRoutes: readonly RouteEntry<model.OwnRoute>[];
  readonly lines: readonly RouteEntry<model.LimitRouteModel>[];
  readonly isCorsOff: boolean;
}

function* compileTables(
  { routes: entries, ownRoutes, lines, isCorsOff }: TableSources,
  before: model.KeptTables | null,
): Steps<model.KeptTables> {
  const patterns = [...entries, ...lines].map(({ pattern }) => pattern);
  const isSameSet = before !== null && before.entries === entries && isSame(before.ownRoutes, ownRoutes);
  const tables = isSameSet
    ? before
    : {
        ownRoutes,
        routes: yield* RouteTable.inSteps<model.RouteModel>([...entries, ...ownRoutes], [SIGN_IN_PREFIX]),
        preflightRoutes: yield* RouteTable.inSteps(isCorsOff ? [] : yield* preflightRoutes(entries), [
          SIGN_IN_PREFIX,
        ]),
      };
  const words =
    isSameSet && hasSameItems(before.patterns, patterns)
      ? before.words
      : yield* PathWords.inSteps([...patterns, ...ownRoutes.map(({ pattern }) => pattern)]);
  return { ...tables, entries, words, patterns };
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
): model.Outline {
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
