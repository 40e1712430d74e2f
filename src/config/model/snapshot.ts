import type { AddressSet, CorsRules, ForwardingRules } from '../../http/index.ts';
import type { LabelModel, PathNaming, SpanExportOptions } from '../../observe/index.ts';
import type { HostNames, RouteEntry, RouteTable } from '../../routing/index.ts';
import type { ServerNames, TlsOptions } from '../../tls/index.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { UpstreamModel } from '../policies/index.ts';
import type { EffectiveConfig, LimitsConfig } from '../schema/index.ts';
import type { HostPort } from '../values/index.ts';
import type { IdentityModel } from './identity-model.ts';
import type { LimitsModel, StoreModel } from './limits-model.ts';
import type { MemoryModel } from './memory.ts';
import type { OwnRoute, RouteModel, RouteOfFile } from './route-model.ts';

/**
 * One compiled, immutable configuration. An exchange keeps the snapshot it began with; a reload replaces it as a whole. Times
 * are milliseconds, sizes bytes.
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
  /** What is kept over a restart; `null` if nothing is. */
  readonly state: StateModel | null;
  /** How preflights are answered; `null` if they are ordinary requests. */
  readonly cors: CorsRules | null;
  /** `null` without an identity provider; then every route says `authentication: none`. */
  readonly identity: IdentityModel | null;
  /** Where clients learn whose tokens are accepted (RFC 9728), which every challenge names; `null` if nowhere. */
  readonly resourceMetadata: string | null;
  readonly timeouts: TimeoutsModel;
  /**
   * The slowest that a client may take the gateway's own answers, on the average of `timeouts.clientReadMs`, in bytes per second;
   * `null`: any rate. Routes have their own.
   */
  readonly minReadRate: number | null;
  readonly caps: CapsModel;
  /** What clients may take by all caps, beside what there is. */
  readonly memory: MemoryModel;
  readonly http2: Http2Model;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
  /** `null` if the gateway takes part in no traces. */
  readonly tracing: TracingModel | null;
  readonly labels: LabelModel;
  /** The part that a later configuration is compared with, to say what it changes. */
  readonly outline: Outline;
}

/** What is kept over a restart. */
export interface StateModel {
  readonly folder: string;
  /** The shortest window whose counters are kept; `null` if none are. */
  readonly countersMs: number | null;
}

/** How many threads serve clients. */
export interface WorkersModel {
  /** How many workers serve clients. 1: the main thread serves them itself. */
  readonly count: number;
  /** What decided with `auto`, such as `processor limit: 1.5`; `null` if the file says the number. */
  readonly why: string | null;
}

/** Whether there is something to tell: several workers, or how `auto` was understood. */
export function areWorkersTold({ count, why }: WorkersModel): boolean {
  return count > 1 || why !== null;
}

/** `4`, or `2 (auto, processor limit: 1.5)`. */
export function workersInWords({ count, why }: WorkersModel): string {
  return why === null ? `${count}` : `${count} (auto, ${why})`;
}

/** How the gateway takes part in traces. */
interface TracingModel {
  /** The share of new traces that are recorded, 0 to 1. */
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
  /** Both files with all defaults, for people to read. */
  readonly effective: EffectiveConfig;
}

/** A route of gateway.yaml with its pattern and where it is written. */
export interface WrittenRoute extends RouteEntry<RouteOfFile> {
  readonly place: FilePlace;
}

export interface OutlineSetting {
  /** The keys that lead to it, with the name of a provider in place of its number. */
  readonly path: readonly (string | number)[];
  /** The value as it is written; `null` if it may be a secret. */
  readonly shown: string | null;
  /** A digest that is equal for equal values. Reveals nothing of a secret. */
  readonly digest: string;
  /** The number in the unit of its key; `null` if it is no number. */
  readonly size: number | null;
}

export interface TimeoutsModel {
  /** From a connection's start to the end of its TLS handshake. */
  readonly tlsHandshakeMs: number;
  /** From a request's first byte (or a connection's start) to the end of its header section. */
  readonly clientHeaderMs: number;
  /** Between two bytes of a request's body. */
  readonly clientBodyIdleMs: number;
  /** The time for a client to read what was written to it. */
  readonly clientReadMs: number;
  /** An idle client connection is kept at least this long. */
  readonly keepAliveMs: number;
  /** Age of a connection at which its client is asked to reconnect; `null` if never. */
  readonly maxConnectionAgeMs: number | null;
}

/** Beyond any of these a request gets a 503 with `Retry-After`. */
export interface CapsModel {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** TLS handshakes in progress. */
  readonly tlsHandshakes: number;
  readonly requests: number;
  readonly requestsPerAddress: number;
  /** Mean delay of the event loop; `null` if any will do. */
  readonly eventLoopDelayMs: number | null;
  /** Header section of a request, in bytes (431 beyond). */
  readonly headBytes: number;
  /** Header fields of a request (431 beyond). */
  readonly fields: number;
  /** The most limit counters in memory; a further one takes the place of another. */
  readonly limitKeys: number;
  /** The most bytes that wait for clients, or are kept of their bodies, in all threads together. */
  readonly bufferedBytes: number;
}

/** What a connection over HTTP/2 may take. */
export interface Http2Model {
  /** Streams of one connection that a client may have open at a time. */
  readonly maxStreams: number;
  /** What a client may send of one body before that is read. */
  readonly streamWindowBytes: number;
  /** How much of all bodies on a connection a client may send before the gateway acknowledges it. */
  readonly connectionWindowBytes: number;
  /** Maximum bytes of responses that wait on one connection; beyond it no further stream is accepted. */
  readonly sessionMemoryBytes: number;
  /** True if a route serves WebSockets, so that clients are told that they may ask for one (RFC 8441). */
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
  /** Whether access lines have the client's `User-Agent`. */
  readonly userAgent: boolean;
  /** How paths are named in the log: by the words that the configuration has in paths. */
  readonly paths: PathNaming;
  /** The hosts that routes and limits name; `null` if they name none. */
  readonly hosts: HostNames | null;
}

export interface ListenModel {
  readonly http: ListenerModel;
  /** The listener that redirects to https; `null` if there is none. */
  readonly redirect: RedirectModel | null;
  /** The listener for gRPC alone; `null` if there is none. */
  readonly grpc: ListenerModel | null;
  /** The admin listener; `null` if there is none. */
  readonly admin: AdminListenerModel | null;
}

/** Where a listener listens, and what it speaks there. */
export interface ListenerModel {
  readonly address: HostPort;
  /** What it serves. `grpc`: gRPC calls and nothing else, over HTTP/2 alone. */
  readonly serves: 'every protocol' | 'grpc';
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
  /** Whether cleartext clients may speak HTTP/2 as well, by prior knowledge (RFC 9113, 3.3). */
  readonly h2c: boolean;
  /** Whether each connection comes from a trusted proxy and begins with a header of the PROXY protocol. */
  readonly proxyProtocol: boolean;
}

/** A listener that sends clients on to https. */
export interface RedirectModel extends ListenerModel {
  /** The port of https that clients are sent to. */
  readonly httpsPort: number;
  /** The hosts that certificates of `listen.http` are for. */
  readonly hosts: ServerNames<true>;
}

export interface AdminListenerModel {
  readonly address: HostPort;
  /** SHA-256 of the token of the admin API; `null` if none is configured. */
  readonly tokenHash: Buffer | null;
  /** Its certificates; `null` if it speaks cleartext. */
  readonly tls: TlsOptions | null;
}
