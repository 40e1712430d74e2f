import type { AccessTokenOptions, BudgetOptions, CacheOptions, KeySetOptions } from '../../auth/index.ts';
import type { PoolName } from '../../core/index.ts';
import type { AddressSet, CorsRules, ForwardingRules } from '../../http/index.ts';
import type { BodyTerms } from '../../http1/index.ts';
import type { BucketHash, IgnoredRefusalsRule, LimitSet, OffenceRule } from '../../limits/index.ts';
import type { FailurePolicy, RedisOptions } from '../../redis/index.ts';
import type { RouteTable } from '../../routing/index.ts';
import type { ProviderOptions, SignInOptions } from '../../signin/index.ts';
import type { ServerNames, TlsOptions } from '../../tls/index.ts';
import type { UpstreamOptions, UpstreamProtocol } from '../../upstream/index.ts';

/**
 * One compiled, immutable configuration. An exchange keeps the snapshot it began with; a reload replaces it as a whole. Times
 * are milliseconds, sizes bytes.
 */
export interface Snapshot {
  /** The number of this configuration in the process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from, 16 hex digits: equal files, equal hash. */
  readonly hash: string;
  readonly listen: ListenModel;
  /** Networks whose `X-Forwarded-*` and `X-Request-Id` are believed. */
  readonly trustedProxies: AddressSet;
  readonly forwarding: ForwardingRules;
  readonly upstreams: readonly UpstreamModel[];
  readonly routes: RouteTable<RouteModel>;
  /** Routes whose services answer preflights, by the requested method; empty if `cors` is off. */
  readonly preflightRoutes: RouteTable<ForwardRoute>;
  readonly limits: LimitsModel;
  readonly store: StoreModel;
  /** Null: preflights are ordinary requests. */
  readonly cors: CorsRules | null;
  /** Null: no identity provider; every route says `authentication: none`. */
  readonly identity: IdentityModel | null;
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly http2: Http2Model;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface ListenModel {
  readonly http: ListenerModel;
  /** Null: no listener that redirects. */
  readonly redirect: RedirectModel | null;
  /** Null: gRPC has no listener of its own. */
  readonly grpc: ListenerModel | null;
  /** Null: no admin listener. */
  readonly admin: AdminListenerModel | null;
}

/** Where a listener listens, and what it speaks there. */
export interface ListenerModel {
  readonly address: HostPort;
  /** `grpc`: calls of gRPC and nothing else, over HTTP/2 alone. */
  readonly serves: 'every protocol' | 'grpc';
  /** Null: cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, without a word before (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Each connection comes from a trusted proxy and begins with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
}

/** A listener that sends clients on to https. */
export interface RedirectModel extends ListenerModel {
  /** Of https. */
  readonly httpsPort: number;
  /** The hosts that certificates of `listen.http` are for. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** Null: cleartext. */
  readonly tls: TlsOptions | null;
}

/** A named service behind the gateway. */
export interface UpstreamModel {
  readonly name: string;
  readonly protocol: UpstreamProtocol;
  readonly options: UpstreamOptions;
  /** The `Host` it is sent; null: the client's. */
  readonly hostHeader: string | null;
  /** Whether it is sent the client's `Authorization`. */
  readonly passAuthorization: boolean;
  readonly pools: Readonly<Record<PoolName, PoolModel>>;
}

/** How many exchanges of one kind an upstream takes at a time; past either number 503. */
export interface PoolModel {
  readonly name: PoolName;
  readonly upstream: string;
  readonly max: number;
  readonly maxPerCaller: number;
}

/** A match rule with its policies: from gateway.yaml, or one of the gateway's own two. */
export type RouteModel = ForwardRoute | SignInRoute;

/** A match rule of gateway.yaml. */
export interface ForwardRoute {
  readonly kind: 'forward';
  /** As the operator wrote it, `GET,HEAD /v1/things/{id}`, `/v1/**` or `GRPC package.Service/*`: the name in metrics and logs. */
  readonly id: string;
  readonly upstream: UpstreamModel;
  /** The pool of its upstream that its exchanges take their permits from. */
  readonly pool: PoolModel;
  /**
   * - `required`: 401 without a valid token
   * - `optional`: without a valid token the caller is an address, and the header is removed
   * - `none`: the header is ignored and passed on unchanged
   */
  readonly authentication: 'required' | 'optional' | 'none';
  /** Whether an exchange is cut off when its token expires. */
  readonly closeAtExpiry: boolean;
  /** Whether the global limit does not apply to it. */
  readonly globalLimitExempt: boolean;
  /** Whether its 404s are counted for each address and webhook. */
  readonly webhook: boolean;
  /** How an upstream's 429 is handled if it does not follow the contract. */
  readonly upstream429: 'rewrite' | 'pass';
  /** Whether the gateway answers preflights and writes the CORS fields; otherwise its upstream does. */
  readonly cors: boolean;
  /** Whether a path with `;` or `%3b` passes. */
  readonly semicolons: 'refuse' | 'pass';
  /** From the last byte of a request to the first of its response; null: any time. */
  readonly firstByteTimeoutMs: number | null;
  /** Between two bytes of a response's body; null: any time. */
  readonly idleTimeoutMs: number | null;
  /** Null: it serves none. */
  readonly websocket: WebSocketModel | null;
  /** The terms for its request bodies. */
  readonly body: BodyTerms;
  /** Names of the path's parameters, in order. */
  readonly parameters: readonly string[];
}

/** What holds for the WebSockets of a route. */
export interface WebSocketModel {
  /** In place of the one that its requests take their permits from. */
  readonly pool: PoolModel;
  /** One is ended where nothing passes for so long, in either direction. */
  readonly idleMs: number;
}

/** One of the anonymous endpoints (docs/contract.md, 1). Takes every method, and answers 405 to most. */
export interface SignInRoute {
  readonly kind: 'sign-in';
  /** Its path: the name in metrics and logs. */
  readonly id: string;
  readonly endpoint: 'authorize-url' | 'auth';
  /** The methods that do not get a 405. */
  readonly methods: readonly string[];
  readonly authentication: 'none';
  readonly semicolons: 'refuse';
  readonly parameters: readonly string[];
}

/** How callers are identified and users signed in. */
export interface IdentityModel {
  readonly provider: ProviderOptions;
  readonly signIn: SignInOptions;
  readonly accessTokens: AccessTokenOptions;
  /** Words that stand for a bearer token, in lower case; the upstream always gets `Bearer`. */
  readonly schemes: readonly string[];
  readonly keySet: KeySetOptions;
  readonly cache: CacheOptions;
  /** Tokens issued earlier are refused: seconds since the epoch, 0 for none. */
  readonly notBeforeS: number;
  /** The budget of failed verifications of an address; null: off. */
  readonly failedVerifications: BudgetOptions | null;
}

export interface TimeoutsModel {
  /** From a connection's start to the end of its TLS handshake. */
  readonly tlsHandshakeMs: number;
  /** From a request's first byte (or a connection's start) to the end of its header section. */
  readonly clientHeaderMs: number;
  /** Between two bytes of a request's body. */
  readonly clientBodyIdleMs: number;
  /** For a client to read what was written to it. */
  readonly clientReadMs: number;
  /** An idle client connection is kept at least this long. */
  readonly keepAliveMs: number;
}

/** Beyond any of these a request gets a 503 with `Retry-After`. */
export interface CapsModel {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** TLS handshakes under way. */
  readonly tlsHandshakes: number;
  readonly requests: number;
  readonly requestsPerAddress: number;
  /** Header section of a request, in bytes (431 beyond). */
  readonly headBytes: number;
  /** Header fields of a request (431 beyond). */
  readonly fields: number;
  /** Limit counters in memory; beyond it one is evicted. */
  readonly limitKeys: number;
}

/** What a connection over HTTP/2 may take. */
export interface Http2Model {
  /** Streams of one connection that a client may have open at a time. */
  readonly maxStreams: number;
  /** What a client may send of one body before that is read. */
  readonly streamWindowBytes: number;
  /** What a client may send of all bodies of a connection until the gateway acknowledges it. */
  readonly connectionWindowBytes: number;
  /** Memory of one connection beyond which no further stream is accepted. */
  readonly sessionMemoryBytes: number;
}

export interface ShutdownModel {
  /** Between SIGTERM and closing the listeners: readiness fails, requests are still served. */
  readonly delayMs: number;
  /** For requests in flight to finish. */
  readonly drainMs: number;
}

export interface LogModel {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** One line per request. */
  readonly access: boolean;
  /** Key of the pseudonyms of callers and main values; null: a random one for this process. */
  readonly pseudonymKey: Buffer | null;
}

/** The kind of a caller, for limits. `address`: callers without a valid token. */
export type CallerClass = 'bot' | 'user' | 'address';

/** Where limits are counted: in each gateway alone, or in a Redis for all of them. */
export type StoreModel =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'redis';
      readonly options: RedisOptions;
      /** What decides while Redis is unavailable. */
      readonly policy: FailurePolicy;
      /** The assumed number of gateways until they have counted each other. */
      readonly replicas: number;
    };

/** limits.yaml, compiled. */
export interface LimitsModel {
  /** For requests without a bucket: only the global limit. */
  readonly global: Readonly<Record<CallerClass, LimitSet>>;
  readonly routes: RouteTable<LimitRouteModel>;
  /** Null: off. */
  readonly invalidRequests: OffenceRule | null;
  readonly webhookNotFound: OffenceRule | null;
  readonly ignoredRefusals: IgnoredRefusalsRule | null;
  /** Networks that are never restricted. */
  readonly neverRestrict: AddressSet;
  /** Bucket keys that one caller may hold. */
  readonly keysPerCaller: number;
}

/** A line of `routes:` in limits.yaml. */
export interface LimitRouteModel {
  readonly bucket: BucketModel;
  /** Index of the bucket's main parameter among the path's; null: the bucket has none. */
  readonly mainAt: number | null;
}

/** A named group of routes that draws on one quota. */
export interface BucketModel {
  readonly name: string;
  readonly scope: 'user' | 'shared';
  readonly hash: BucketHash;
  /** With the global limit, and without it for exempt routes. */
  readonly sets: Readonly<Record<CallerClass, LimitSet>>;
  readonly exemptSets: Readonly<Record<CallerClass, LimitSet>>;
}
