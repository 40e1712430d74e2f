import type { ServerNames, TlsOptions } from '../../edge/tls/index.ts';
import type { HostNames, RouteEntry, RouteTable } from '../../gateway/routing/index.ts';
import type { LabelModel, PathNaming, SpanExportOptions } from '../../observe/index.ts';
import type { AddressSet, CorsRules, ForwardingRules } from '../../wire/http/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { UpstreamModel } from '../policies/index.ts';
import type { EffectiveConfig, LimitsConfig } from '../schema/index.ts';
import type { HostPort } from '../values/index.ts';
import type { IdentityModel } from './identity-model.ts';
import type { LimitsModel, StoreModel } from './limits-model.ts';
import type { MemoryModel } from './memory.ts';
import type { OwnRoute, RouteModel, RouteOfFile } from './route-model.ts';

/**
 * One compiled, immutable configuration. An exchange keeps the snapshot it began with; a reload replaces it completely. Times are
 * in milliseconds, sizes in bytes.
 */
export interface Snapshot {
  /** The number of this configuration in the process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from, 16 hex digits: equal files, equal hash. */
  readonly hash: string;
  /** The names of these files: gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly listen: ListenModel;
  readonly workers: WorkersModel;
  /** Networks whose `X-Forwarded-*` and `X-Request-Id` are trusted. */
  readonly trustedProxies: AddressSet;
  readonly forwarding: ForwardingRules;
  readonly upstreams: readonly UpstreamModel[];
  readonly routes: RouteTable<RouteModel>;
  /** Routes whose services answer preflights, by the requested method; empty if `cors` is off. */
  readonly preflightRoutes: RouteTable<RouteOfFile>;
  readonly limits: LimitsModel;
  readonly store: StoreModel;
  /** What is kept across a restart; `null` if nothing is. */
  readonly state: StateModel | null;
  /** How preflights are answered; `null` if they are ordinary requests. */
  readonly cors: CorsRules | null;
  /** `null` without an identity provider; then every route has `authentication: none`. */
  readonly identity: IdentityModel | null;
  /** Where clients learn whose tokens are accepted (RFC 9728), as named in challenges; `null` if nowhere. */
  readonly resourceMetadata: string | null;
  readonly timeouts: TimeoutsModel;
  /**
   * The minimum rate at which a client must read the gateway's own answers, averaged over `timeouts.clientReadMs`, in bytes per
   * second; `null` for no minimum. Routes have their own.
   */
  readonly minReadRate: number | null;
  readonly caps: CapsModel;
  /** What clients may take under all caps, and the memory available. */
  readonly memory: MemoryModel;
  readonly http2: Http2Model;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
  /** `null` if the gateway does not take part in traces. */
  readonly tracing: TracingModel | null;
  readonly labels: LabelModel;
  /** The part that a later configuration is compared with, to report changes. */
  readonly outline: Outline;
}

/** What is kept across a restart. */
export interface StateModel {
  readonly folder: string;
  /** The shortest window whose counters are kept; `null` if none are. */
  readonly countersMs: number | null;
}

/** How many threads serve clients. */
export interface WorkersModel {
  /** How many workers serve clients. 1: the main thread serves them itself. */
  readonly count: number;
  /** Why `auto` chose this number, such as `processor limit: 1.5`; `null` if the file gives the number. */
  readonly why: string | null;
}

/** Whether the workers should be mentioned: there are several, or `auto` was used. */
export function areWorkersShown({ count, why }: WorkersModel): boolean {
  return count > 1 || why !== null;
}

/** `4`, or `2 (auto, processor limit: 1.5)`. */
export function workersInWords({ count, why }: WorkersModel): string {
  return why === null ? `${count}` : `${count} (auto, ${why})`;
}

/** How the gateway takes part in traces. */
interface TracingModel {
  /** The fraction of new traces that are recorded, 0 to 1. */
  readonly share: number;
  /** Where spans are sent; `null` if nowhere. */
  readonly export: SpanExportOptions | null;
}

/** A configuration as the operator wrote it, to explain it and to compare it with others. */
export interface Outline {
  /** The keys of gateway.yaml, without its routes, by path: `caps.requests`. */
  readonly settings: ReadonlyMap<string, OutlineSetting>;
  /** The routes of gateway.yaml in file order. */
  readonly routes: readonly WrittenRoute[];
  /** The gateway's own routes. */
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  /** limits.yaml with all defaults. */
  readonly limits: LimitsConfig;
  /** Where the keys of limits.yaml are written. */
  readonly places: KeyPlaces;
  /** Both files with all defaults, for display. */
  readonly effective: EffectiveConfig;
}

/** A route of gateway.yaml with its pattern and where it is written. */
export interface WrittenRoute extends RouteEntry<RouteOfFile> {
  readonly place: FilePlace;
}

export interface OutlineSetting {
  /** The keys that lead to it, with a provider's name instead of its index. */
  readonly path: readonly (string | number)[];
  /** The value as written; `null` if it may be a secret. */
  readonly shown: string | null;
  /** A digest that is equal for equal values. Reveals nothing about a secret. */
  readonly digest: string;
  /** The number in the unit of its key; `null` if it is not a number. */
  readonly size: number | null;
}

export interface TimeoutsModel {
  /** From a connection's start to the end of its TLS handshake. */
  readonly tlsHandshakeMs: number;
  /** From a request's first byte (or a connection's start) to the end of its header section. */
  readonly clientHeaderMs: number;
  /** Between two bytes of a request's body. */
  readonly clientBodyIdleMs: number;
  /** The time a client may take to read what was written to it. */
  readonly clientReadMs: number;
  /** An idle client connection is kept at least this long. */
  readonly keepAliveMs: number;
  /** Age of a connection at which its client is asked to reconnect; `null` for never. */
  readonly maxConnectionAgeMs: number | null;
}

/** Caps. Beyond any of them a request gets a 503 with `Retry-After`. */
export interface CapsModel {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** TLS handshakes in progress. */
  readonly tlsHandshakes: number;
  readonly requests: number;
  readonly requestsPerAddress: number;
  /** Mean delay of the event loop; `null` for no cap. */
  readonly eventLoopDelayMs: number | null;
  /** Header section of a request, in bytes (431 beyond). */
  readonly headBytes: number;
  /** Header fields of a request (431 beyond). */
  readonly fields: number;
  /** Maximum limit counters in memory; further ones replace others. */
  readonly limitKeys: number;
  /** Maximum bytes that wait for clients, or are buffered of their bodies, in all threads together. */
  readonly bufferedBytes: number;
}

/** The limits of an HTTP/2 connection. */
export interface Http2Model {
  /** Maximum concurrent streams of one connection. */
  readonly maxStreams: number;
  /** How much of one body a client may send before it is read. */
  readonly streamWindowBytes: number;
  /** How much of all bodies on a connection a client may send before the gateway acknowledges it. */
  readonly connectionWindowBytes: number;
  /** Maximum bytes of responses waiting on one connection; beyond it no further streams are accepted. */
  readonly sessionMemoryBytes: number;
  /** True if a route serves WebSockets, so that clients are told that they may request one (RFC 8441). */
  readonly webSockets: boolean;
}

interface ShutdownModel {
  /** Between SIGTERM and closing the listeners: readiness fails, requests are still served. */
  readonly delayMs: number;
  /** The time for requests in flight to finish. */
  readonly drainMs: number;
}

interface LogModel {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Whether each request writes a line. */
  readonly access: boolean;
  /** Key of the pseudonyms of callers and main values; `null` if this process makes a random one. */
  readonly pseudonymKey: Buffer | null;
  /** Whether access lines include the client's `User-Agent`. */
  readonly userAgent: boolean;
  /** How paths are named in the log: by the words in the configuration's paths. */
  readonly paths: PathNaming;
  /** The hosts named by routes and limits; `null` if there are none. */
  readonly hosts: HostNames | null;
}

export interface ListenModel {
  readonly http: ListenerModel;
  /** The listener that redirects to https; `null` if there is none. */
  readonly redirect: RedirectModel | null;
  /** The listener for gRPC only; `null` if there is none. */
  readonly grpc: ListenerModel | null;
  /** The admin listener; `null` if there is none. */
  readonly admin: AdminListenerModel | null;
}

/** A listener's address and protocols. */
export interface ListenerModel {
  readonly address: HostPort;
  /** What it serves. `grpc`: only gRPC calls, only over HTTP/2. */
  readonly serves: 'every protocol' | 'grpc';
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, by prior knowledge (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Whether each connection comes from a trusted proxy and begins with a PROXY protocol header. */
  readonly proxyProtocol: boolean;
}

/** A listener that redirects clients to https. */
export interface RedirectModel extends ListenerModel {
  /** The https port in redirects. */
  readonly httpsPort: number;
  /** The hosts covered by certificates of `listen.http`. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** SHA-256 of the admin API's token; `null` if none is configured. */
  readonly tokenHash: Buffer | null;
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
}
