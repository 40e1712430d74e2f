import { dirname, resolve } from 'node:path';
import { ServerNames } from '../../edge/tls/index.ts';
import { HostNames, type RouteEntry, RouteTable } from '../../gateway/routing/index.ts';
import { serviceHost, type UpstreamTls } from '../../upstream/index.ts';
import { AddressSet, type CorsRules, ForwardingRules } from '../../wire/http/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type * as model from '../model/index.ts';
import { formatHostPort } from '../model/index.ts';
import { claimFieldsIn, compileUpstreamSettings, Requirements } from '../policies/index.ts';
import type {
  CorsConfig,
  EffectiveConfig,
  GatewayConfig,
  LimitsConfig,
  UpstreamConfig,
} from '../schema/index.ts';
import { listedUrls } from '../schema/index.ts';
import { claimsOf, compileIdentity } from './compile-identity.ts';
import { compileLabels } from './compile-labels.ts';
import { compileLimits } from './compile-limits.ts';
import { compileRoute, ownRoutesOf, pathNaming, preflightRoutes, SIGN_IN_PREFIX } from './compile-routes.ts';
import { memoryOf } from './memory-defaults.ts';
import { metadataUrlOf } from './protected-resource.ts';
import type { ListenerTls } from './read-tls.ts';
import type { TlsFiles } from './secret-files.ts';
import type { SecretParts } from './secrets.ts';

/** Everything that was read and is valid. */
interface Sources extends SecretParts {
  readonly gateway: GatewayConfig;
  readonly limits: LimitsConfig;
  readonly store: model.StoreModel;
  readonly workers: model.WorkersModel;
  /** The memory that the process may use. */
  readonly usableBytes: number;
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
  const { gateway: config, limits, providers, pseudonymKey, listenerTls, upstreamTls, hash, files } = sources;
  const upstreams = new Map(
    Object.entries(config.upstreams).map(([name, upstream]) => [
      name,
      compileUpstream(name, upstream, upstreamTls.get(name)),
    ]),
  );
  const requirements = new Requirements(config.routes);
  const byRoute = config.routes.map(route => compileRoute(route, config, upstreams, requirements));
  const routes = byRoute.flat();
  const compiledLimits = compileLimits(limits, claimsOf(config));
  const listen = compileListen(config.listen, listenerTls, sources.adminTokenHash);
  const identity = compileIdentity(config, limits, providers, requirements);
  const caps = capsOf(config);
  const ownRoutes = ownRoutesOf(config, identity, requirements, certificateFields(listenerTls).length > 0);
  return {
    generation,
    hash,
    files,
    listen,
    workers: sources.workers,
    trustedProxies: new AddressSet(config.trusted_proxies),
    forwarding: new ForwardingRules({
      ...config.forwarding_headers,
      traces: config.tracing !== null,
      certificate: config.access_tokens?.certificate_field ?? null,
      own: [
        ...Object.keys(config.access_tokens?.identity_headers ?? {}),
        ...config.routes.flatMap(({ request_headers: edits }) => claimFieldsIn(edits)),
        ...certificateFields(listenerTls),
      ],
    }),
    upstreams: [...upstreams.values()],
    routes: new RouteTable<model.RouteModel>([...routes, ...ownRoutes], [SIGN_IN_PREFIX]),
    preflightRoutes: new RouteTable(config.cors === 'off' ? [] : preflightRoutes(routes), [SIGN_IN_PREFIX]),
    limits: compiledLimits.model,
    store: sources.store,
    state: stateOf(config, files),
    cors: corsRules(config.cors, limits),
    identity,
    resourceMetadata:
      config.protected_resource === undefined ? null : metadataUrlOf(config.protected_resource.resource),
    timeouts: timeoutsOf(config),
    minReadRate: config.min_read_rate,
    caps,
    memory: memoryOf(
      {
        ...{ caps, workers: sources.workers, upstreams: [...upstreams.values()] },
        routes: routes.map(({ value }) => value),
        maxTokens: (config.access_tokens?.cache.tokens ?? 0) * providers.length,
      },
      sources.usableBytes,
    ),
    http2: http2Of(
      config,
      routes.map(({ value }) => value),
    ),
    shutdown: { delayMs: config.shutdown.delay, drainMs: config.shutdown.drain },
    log: {
      level: config.log.level,
      access: config.log.access,
      pseudonymKey,
      userAgent: config.log.fields.includes('user_agent'),
      paths: pathNaming([...routes, ...compiledLimits.routes, ...ownRoutes]),
      hosts: HostNames.in([...routes, ...compiledLimits.routes]),
    },
    tracing: tracingOf(config),
    outline: outlineOf(sources, byRoute, ownRoutes),
    labels: compileLabels({
      listen,
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

function corsRules(config: CorsConfig, { headers }: LimitsConfig): CorsRules | null {
  if (config === 'off') return null;
  const { origins, allow_headers: allowHeaders, credentials, max_age: maxAgeMs } = config;
  return {
    origins: origins && new Set(origins),
    allowHeaders,
    credentials,
    maxAgeS: Math.floor(maxAgeMs / 1_000),
    policies: headers.includes('ratelimit'),
  };
}

function stateOf(
  { state, store }: GatewayConfig,
  [gatewayFile = '']: readonly string[],
): model.Snapshot['state'] {
  if (state === undefined) return null;
  const { folder, counters } = typeof state === 'string' ? { folder: state } : state;
  // With Redis, counters are stored there.
  const countersMs = store === 'memory' ? (counters ?? null) : null;
  return { folder: resolve(dirname(gatewayFile), folder), countersMs };
}

function tracingOf({ tracing }: GatewayConfig): model.Snapshot['tracing'] {
  if (tracing === null) return null;
  const { sample, export: receiver } = tracing;
  if (receiver === null) return { share: sample, export: null };
  const { timeout: timeoutMs, ...to } = receiver;
  return { share: sample, export: { ...to, timeoutMs } };
}

function timeoutsOf({ timeouts }: GatewayConfig): model.Snapshot['timeouts'] {
  return {
    tlsHandshakeMs: timeouts.tls_handshake,
    clientHeaderMs: timeouts.client_header,
    clientBodyIdleMs: timeouts.client_body,
    clientReadMs: timeouts.client_read,
    keepAliveMs: timeouts.keep_alive,
    maxConnectionAgeMs: timeouts.max_connection_age,
  };
}

function capsOf({ caps }: GatewayConfig): model.Snapshot['caps'] {
  return {
    connections: caps.connections,
    connectionsPerAddress: caps.connections_per_address,
    tlsHandshakes: caps.tls_handshakes,
    requests: caps.requests,
    requestsPerAddress: caps.requests_per_address,
    eventLoopDelayMs: caps.event_loop_delay,
    headBytes: caps.head,
    fields: caps.fields,
    limitKeys: caps.limit_keys,
    bufferedBytes: caps.buffered,
  };
}

function http2Of({ http2 }: GatewayConfig, routes: readonly model.RouteOfFile[]): model.Snapshot['http2'] {
  return {
    maxStreams: http2.max_streams,
    streamWindowBytes: http2.stream_window,
    connectionWindowBytes: http2.connection_window,
    sessionMemoryBytes: http2.session_memory,
    webSockets: routes.some(route => route.kind === 'forward' && route.websocket !== null),
  };
}

/** Compiles `listen`. */
function compileListen(
  config: GatewayConfig['listen'],
  tls: ListenerTls,
  adminTokenHash: Buffer | null,
): model.ListenModel {
  const { http, redirect, grpc, admin } = config;
  const { address, h2c, proxy_protocol: proxyProtocol } = http;
  return {
    http: { address, serves: 'every protocol', tls: tls.http, h2c, proxyProtocol },
    redirect: redirect === null ? null : compileRedirect(redirect, tls),
    grpc: grpc && {
      address: grpc.address,
      serves: 'grpc',
      tls: tls.grpc,
      h2c: true,
      proxyProtocol: grpc.proxy_protocol,
    },
    admin: admin && { address: admin.address, tls: tls.admin, tokenHash: adminTokenHash },
  };
}

function compileRedirect(
  { address, proxy_protocol: proxyProtocol, port }: NonNullable<GatewayConfig['listen']['redirect']>,
  tls: ListenerTls,
): model.RedirectModel {
  const names = (tls.http?.certificates ?? []).flatMap(({ serverNames }) => serverNames);
  const hosts = new ServerNames(names.map(name => [name, true] as const));
  return { address, serves: 'every protocol', tls: null, h2c: false, proxyProtocol, httpsPort: port, hosts };
}

/** Header fields for verified client certificates (RFC 9440): only the gateway may write them. */
function certificateFields({ http, grpc }: ListenerTls): readonly string[] {
  const isAsked = [http, grpc].some(tls => tls?.clientCertificates);
  return isAsked ? ['Client-Cert', 'Client-Cert-Chain'] : [];
}

/**
 * Compiles an upstream.
 *
 * @param files the files named under `tls`
 */
function compileUpstream(
  name: string,
  config: UpstreamConfig,
  files: TlsFiles | undefined,
): model.UpstreamModel {
  const listed = listedUrls(config);
  const [authority = '', ...others] = listed.map(({ url }) => authorityOf(url));
  const hasOthers = others.some(other => other !== authority);
  const isTls = listed.some(({ url }) => url.tls);
  const { protocol } = config;
  const { options, ...settings } = compileUpstreamSettings(config, { name, authority, hasOthers, protocol });
  return {
    name,
    protocol,
    base: listed[0]?.url.base ?? '',
    endpoints: listed.map(({ url: { host, port, lookup }, weight }) => ({ host, port, weight, lookup })),
    options: { ...options, protocol, tls: isTls ? compileUpstreamTls(config.tls, files) : null },
    ...settings,
    health: settings.health && { ...settings.health, host: settings.hostHeader ?? authority },
  };
}

/**
 * Omits the default port, as a client with this URL would (RFC 9110, 4.2.1 and 7.2). For an SRV name, it is the host after the
 * service and protocol labels.
 */
function authorityOf(url: NonNullable<UpstreamConfig['url']>): string {
  if (url.lookup === 'srv') return serviceHost(url.host);
  return formatHostPort(url).replace(url.tls ? /:443$/ : /:80$/, '');
}

function compileUpstreamTls(
  { server_name, verify }: UpstreamConfig['tls'],
  files: TlsFiles | undefined,
): UpstreamTls {
  return {
    serverName: server_name ?? null,
    ca: files?.ca ?? null,
    certificate: files?.certificate ?? null,
    key: files?.key ?? null,
    verify,
  };
}
