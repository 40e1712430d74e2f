import type { PoolName } from '../../core/index.ts';
import { AddressSet, type CorsRules, ForwardingRules } from '../../http/index.ts';
import {
  parseGrpcPattern,
  parseRoutePattern,
  type RouteEntry,
  type RoutePattern,
  RouteTable,
} from '../../routing/index.ts';
import { ServerNames } from '../../tls/index.ts';
import type { UpstreamTls } from '../../upstream/index.ts';
import {
  type ForwardRoute,
  formatHostPort,
  type ListenModel,
  type PoolModel,
  type RedirectModel,
  type RouteModel,
  type Snapshot,
  type StoreModel,
  type UpstreamModel,
} from '../model/index.ts';
import type {
  CorsConfig,
  GatewayConfig,
  LimitsConfig,
  RouteConfig,
  UpstreamConfig,
} from '../schema/index.ts';
import { compileIdentity } from './compile-identity.ts';
import { type CompiledLimits, compileLimits } from './compile-limits.ts';
import { preflightRoutes } from './preflight-routes.ts';
import type { ListenerTls } from './read-listener-tls.ts';
import type { ProviderConfigOptions } from './read-provider.ts';
import type { TlsFiles } from './secret-files.ts';
import { SIGN_IN_PREFIX, SIGN_IN_ROUTES } from './sign-in-routes.ts';

/** A snapshot, and the routes of both files in file order, which the snapshot's tables cannot list. */
export interface Compiled {
  readonly snapshot: Snapshot;
  readonly routes: readonly RouteEntry<ForwardRoute>[];
  readonly limitRoutes: CompiledLimits['routes'];
}

/** Everything that was read and found valid. */
export interface Sources {
  readonly gateway: GatewayConfig;
  readonly limits: LimitsConfig;
  readonly listenerTls: ListenerTls;
  /** What upstreams name under `tls`. */
  readonly upstreamTls: ReadonlyMap<string, TlsFiles>;
  /** Null: no identity provider is configured. */
  readonly provider: ProviderConfigOptions | null;
  /** Null: none is configured. */
  readonly pseudonymKey: Buffer | null;
  readonly store: StoreModel;
  /** The hash of the configuration files. */
  readonly hash: string;
}

/** Compiles a valid configuration for the data plane. */
export function compileGateway(sources: Sources, generation: number): Compiled {
  const { gateway: config, limits, provider, pseudonymKey, listenerTls, upstreamTls, hash } = sources;
  const upstreams = new Map(
    Object.entries(config.upstreams).map(([name, upstream]) => [
      name,
      compileUpstream(name, upstream, upstreamTls.get(name)),
    ]),
  );
  const routes = config.routes.map(route => compileRoute(route, config, upstreams));
  const compiledLimits = compileLimits(limits);
  return {
    routes,
    limitRoutes: compiledLimits.routes,
    snapshot: {
      generation,
      hash,
      listen: compileListen(config.listen, listenerTls),
      trustedProxies: new AddressSet(config.trusted_proxies),
      forwarding: new ForwardingRules({
        ...config.forwarding_headers,
        own: [
          ...Object.keys(config.access_tokens?.identity_headers ?? {}),
          ...certificateFields(listenerTls),
        ],
      }),
      upstreams: [...upstreams.values()],
      routes: new RouteTable<RouteModel>([...routes, ...SIGN_IN_ROUTES], [SIGN_IN_PREFIX]),
      preflightRoutes: new RouteTable(config.cors === 'off' ? [] : preflightRoutes(routes), [SIGN_IN_PREFIX]),
      limits: compiledLimits.model,
      store: sources.store,
      cors: corsRules(config.cors),
      identity: provider === null ? null : compileIdentity(config, limits, provider),
      timeouts: {
        tlsHandshakeMs: config.timeouts.tls_handshake,
        clientHeaderMs: config.timeouts.client_header,
        clientBodyIdleMs: config.timeouts.client_body,
        clientReadMs: config.timeouts.client_read,
        keepAliveMs: config.timeouts.keep_alive,
      },
      caps: {
        connections: config.caps.connections,
        connectionsPerAddress: config.caps.connections_per_address,
        tlsHandshakes: config.caps.tls_handshakes,
        requests: config.caps.requests,
        requestsPerAddress: config.caps.requests_per_address,
        headBytes: config.caps.head,
        fields: config.caps.fields,
        limitKeys: config.caps.limit_keys,
      },
      http2: {
        maxStreams: config.http2.max_streams,
        streamWindowBytes: config.http2.stream_window,
        connectionWindowBytes: config.http2.connection_window,
        sessionMemoryBytes: config.http2.session_memory,
      },
      shutdown: { delayMs: config.shutdown.delay, drainMs: config.shutdown.drain },
      log: { level: config.log.level, access: config.log.access, pseudonymKey },
    },
  };
}

function compileListen(config: GatewayConfig['listen'], tls: ListenerTls): ListenModel {
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
    admin: admin && { address: admin.address, tls: tls.admin },
  };
}

function compileRedirect(
  { address, proxy_protocol: proxyProtocol, port }: NonNullable<GatewayConfig['listen']['redirect']>,
  tls: ListenerTls,
): RedirectModel {
  const names = (tls.http?.certificates ?? []).flatMap(({ serverNames }) => serverNames);
  const hosts = new ServerNames(names.map(name => [name, true] as const));
  return { address, serves: 'every protocol', tls: null, h2c: false, proxyProtocol, httpsPort: port, hosts };
}

/** Fields that the gateway alone writes where it verifies certificates of clients (RFC 9440). */
function certificateFields({ http, grpc }: ListenerTls): readonly string[] {
  const isAsked = [http, grpc].some(tls => tls?.clientCertificates);
  return isAsked ? ['Client-Cert', 'Client-Cert-Chain'] : [];
}

function corsRules(config: CorsConfig): CorsRules | null {
  if (config === 'off') return null;
  const { origins, allow_headers: allowHeaders, credentials, max_age: maxAgeMs } = config;
  return {
    origins: origins && new Set(origins),
    allowHeaders,
    credentials,
    maxAgeS: Math.floor(maxAgeMs / 1_000),
  };
}

function compileUpstream(name: string, config: UpstreamConfig, files: TlsFiles | undefined): UpstreamModel {
  const { host, port, tls } = config.url;
  // Leaves out the default port, as a client with this URL would (RFC 9110, 4.2.1 and 7.2).
  const authority = formatHostPort(config.url).replace(tls ? /:443$/ : /:80$/, '');
  return {
    name,
    protocol: config.protocol,
    options: {
      host,
      port,
      tls: tls ? compileUpstreamTls(config.tls, files) : null,
      protocol: config.protocol,
      http2: {
        maxConnections: config.h2.max_connections,
        maxStreams: config.h2.max_streams,
        pingIntervalMs: config.h2.ping_interval,
        pingTimeoutMs: config.h2.ping_timeout,
      },
      connectTimeoutMs: config.timeouts.connect,
      keepAliveMs: config.keep_alive,
      maxAgeMs: config.max_connection_age,
      maxConnections: config.max_requests,
      maxHeadBytes: config.max_head,
    },
    hostHeader: config.host === 'upstream' ? authority : null,
    passAuthorization: config.authorization === 'pass',
    pools: {
      requests: compilePool('requests', name, config.max_requests, config.max_requests_per_caller),
      grpc_calls: compilePool('grpc_calls', name, config.max_grpc_calls, config.max_grpc_calls_per_caller),
      websockets: compilePool('websockets', name, config.max_websockets, config.max_websockets_per_caller),
    },
  };
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

function compilePool(name: PoolName, upstream: string, max: number, percentPerCaller: number): PoolModel {
  return { name, upstream, max, maxPerCaller: partOf(max, percentPerCaller) };
}

/** Returns at least one, or no caller could use the upstream. */
function partOf(count: number, percent: number): number {
  return Math.max(1, Math.floor((count * percent) / 100));
}

function compileRoute(
  config: RouteConfig,
  { upstreams: upstreamConfigs }: GatewayConfig,
  upstreams: ReadonlyMap<string, UpstreamModel>,
): RouteEntry<ForwardRoute> {
  const upstream = upstreams.get(config.upstream);
  const defaults = upstreamConfigs[config.upstream]?.timeouts;
  const pattern = patternOf(config);
  if (upstream === undefined || defaults === undefined || pattern === null) {
    throw new Error(`a route to the upstream ${config.upstream} was not checked`);
  }
  const value: ForwardRoute = {
    kind: 'forward',
    id: pattern.methods === null ? pattern.path : `${pattern.methods.join(',')} ${pattern.path}`,
    upstream,
    authentication: config.authentication,
    closeAtExpiry: config.close_at_expiry,
    globalLimitExempt: config.global_limit === 'exempt',
    parameters: pattern.parameters,
    ...(config.grpc === undefined
      ? rulesOfPaths(config, defaults, upstream)
      : rulesOfCalls(config, upstream)),
  };
  return { pattern, value };
}

/** Null: it was not checked. */
function patternOf({ path, grpc, methods }: RouteConfig): RoutePattern | null {
  if (grpc !== undefined) return parseGrpcPattern(grpc);
  return path === undefined ? null : parseRoutePattern(path, methods ?? null);
}

/** What routes of paths and routes of gRPC calls differ in. */
type RulesOfKind = Omit<
  ForwardRoute,
  'kind' | 'id' | 'upstream' | 'authentication' | 'closeAtExpiry' | 'globalLimitExempt' | 'parameters'
>;

function rulesOfPaths(
  config: RouteConfig,
  defaults: UpstreamConfig['timeouts'],
  { pools }: UpstreamModel,
): RulesOfKind {
  return {
    pool: pools.requests,
    webhook: config.webhook,
    upstream429: config.upstream_429,
    cors: config.cors,
    semicolons: config.semicolons,
    firstByteTimeoutMs: config.timeouts.first_byte ?? defaults.first_byte,
    idleTimeoutMs: config.timeouts.idle ?? defaults.idle,
    websocket: config.websocket
      ? {
          pool: pools.websockets,
          idleMs: config.timeouts.websocket_idle ?? defaults.websocket_idle,
        }
      : null,
    body: { maxBytes: config.max_body, minBytesPerS: config.min_body_rate, deadlineMs: null },
  };
}

/** A call may rightly be silent for hours: its own deadline bounds it, and PINGs tell whether its connection lives. */
function rulesOfCalls(config: RouteConfig, { pools }: UpstreamModel): RulesOfKind {
  return {
    pool: pools.grpc_calls,
    webhook: false,
    upstream429: 'pass',
    cors: false,
    semicolons: 'refuse',
    firstByteTimeoutMs: null,
    idleTimeoutMs: null,
    websocket: null,
    body: { maxBytes: config.max_body, minBytesPerS: null, deadlineMs: null },
  };
}
