import { type Machine, usableMemory } from '../../core/index.ts';
import { type RouteEntry, RouteTable } from '../../gateway/routing/index.ts';
import type { ApiKeyLine } from '../../identity/auth/index.ts';
import { ForwardingRules } from '../../wire/http/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type * as model from '../model/index.ts';
import { claimFieldsIn, Requirements } from '../policies/index.ts';
import type { EffectiveConfig, LimitsConfig } from '../schema/index.ts';
import { compileSettings, compileUpstreams, type GatewayConfig, type Secrets } from '../settings/index.ts';
import { claimsOf, compileIdentity } from './compile-identity.ts';
import { compileLabels } from './compile-labels.ts';
import { compileLimits } from './compile-limits.ts';
import { compileRoute, ownRoutesOf, preflightRoutes, SIGN_IN_PREFIX } from './compile-routes.ts';
import { memoryOf } from './memory-use.ts';

/** Everything that was read and is valid. */
export interface Sources {
  readonly gateway: GatewayConfig;
  /** The lines of the file of API keys. */
  readonly apiKeys: readonly ApiKeyLine[];
  readonly limits: LimitsConfig;
  readonly secrets: Secrets;
  /** What the process may use. */
  readonly machine: Machine;
  readonly settings: model.Outline['settings'];
  readonly effective: EffectiveConfig;
  /** Where the routes of gateway.yaml and the keys of limits.yaml are written. */
  readonly places: { readonly routes: readonly FilePlace[]; readonly limits: KeyPlaces };
  /** The hash of the configuration files. */
  readonly hash: string;
  /** The names of these files: gateway.yaml, then the limits files. */
  readonly files: readonly string[];
}

/** Compiles a valid configuration for the data plane. */
export function compileGateway(sources: Sources, generation: number): model.Snapshot {
  const { gateway: config, limits, apiKeys, secrets, machine, hash, files } = sources;
  const { access_tokens: tokens } = config;
  const requirements = new Requirements(config.routes);
  const upstreams = compileUpstreams(config.upstreams, secrets.upstreamTls);
  const byRoute = config.routes.map(route => compileRoute(route, config, upstreams, requirements));
  const routes = byRoute.flat();
  const compiledLimits = compileLimits(limits, claimsOf(config));
  const identity = compileIdentity(config, limits, { providers: secrets.providers, apiKeys }, requirements);
  const proofs = identity !== null && identity.dpop !== null;
  const ofCertificates = certificateFields(secrets.listenerTls);
  const ownRoutes = ownRoutesOf(config, identity, requirements, ofCertificates.length > 0);
  const settings = compileSettings(
    config,
    {
      gatewayFile: files[0] ?? '',
      machine,
      headers: limits.headers,
      proofs,
      countsInMemory: config.store === 'memory',
      webSockets: routes.some(({ value }) => value.kind === 'forward' && value.websocket !== null),
      routes: [...routes, ...compiledLimits.routes],
      ownRoutes,
    },
    secrets,
  );
  return {
    ...settings,
    generation,
    hash,
    files,
    forwarding: new ForwardingRules({
      ...config.forwarding_headers,
      traces: config.tracing !== null,
      certificate: tokens?.certificate_field ?? null,
      proofs,
      apiKey: config.api_keys?.header ?? null,
      own: [
        ...Object.keys(tokens?.identity_headers ?? {}),
        ...config.routes.flatMap(({ request_headers: edits }) => claimFieldsIn(edits)),
        ...ofCertificates,
      ],
    }),
    upstreams: [...upstreams.values()],
    routes: new RouteTable<model.RouteModel>([...routes, ...ownRoutes], [SIGN_IN_PREFIX]),
    preflightRoutes: new RouteTable(config.cors === 'off' ? [] : preflightRoutes(routes), [SIGN_IN_PREFIX]),
    limits: compiledLimits.model,
    identity,
    memory: memoryOf(
      {
        ...settings,
        upstreams: [...upstreams.values()],
        routes: routes.map(({ value }) => value),
        maxTokens: (tokens?.cache.tokens ?? 0) * tokenTablesIn(identity),
      },
      usableMemory(machine),
    ),
    outline: outlineOf(sources, byRoute, ownRoutes),
    labels: compileLabels({
      listen: settings.listen,
      upstreams: upstreams.keys(),
      routes,
      ownRoutes,
      limits: compiledLimits.model,
      limitRoutes: compiledLimits.routes,
      identity,
      routeDurations: config.metrics.route_durations,
    }),
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
