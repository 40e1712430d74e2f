import type { AddressSet, ForwardingRules } from '../http/index.ts';
import type { RouteTable } from '../routing/index.ts';
import type { UpstreamOptions } from '../upstream/index.ts';

/**
 * One compiled, immutable configuration. An exchange reads the snapshot it began with to its end; a reload swaps in
 * another as a whole. All times are milliseconds, all sizes bytes.
 */
export interface Snapshot {
  /** Counts the configurations of this process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from: the same files, the same hash. Hex, 16 digits. */
  readonly hash: string;
  readonly listen: ListenModel;
  /** Networks whose `X-Forwarded-*` and `X-Request-Id` are believed. */
  readonly trustedProxies: AddressSet;
  readonly forwarding: ForwardingRules;
  readonly upstreams: readonly UpstreamModel[];
  readonly routes: RouteTable<RouteModel>;
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface ListenModel {
  readonly http: HostPort;
  /** Null: no admin listener. */
  readonly admin: HostPort | null;
}

/** A named service behind the gateway. */
export interface UpstreamModel {
  readonly name: string;
  readonly options: UpstreamOptions;
  /** The `Host` it is sent; null: the client's. */
  readonly hostHeader: string | null;
  /** Whether it is sent the client's `Authorization`. */
  readonly passAuthorization: boolean;
  /** Requests in flight to it; past them 503. */
  readonly maxRequests: number;
}

/** A match rule of gateway.yaml with its policies. */
export interface RouteModel {
  /** As the operator wrote it, `GET,HEAD /v1/things/{id}` or `/v1/**`: the name in metrics and logs. */
  readonly id: string;
  readonly upstream: UpstreamModel;
  readonly authentication: 'none';
  /** Whether a path with `;` or `%3b` passes. */
  readonly semicolons: 'refuse' | 'pass';
  /** From the last byte of a request to the first of its answer. */
  readonly firstByteTimeoutMs: number;
  /** Between two bytes of an answer's body. */
  readonly idleTimeoutMs: number;
  /** Largest request body; null: no limit. */
  readonly maxBodyBytes: number | null;
  /** Names of the path's parameters in order. */
  readonly parameters: readonly string[];
}

export interface TimeoutsModel {
  /** From a request's first byte (or a connection's start) to the end of its header section. */
  readonly clientHeaderMs: number;
  /** Between two bytes of a request's body. */
  readonly clientBodyIdleMs: number;
  /** For a client to take in what was written to it. */
  readonly clientReadMs: number;
  /** An idle client connection is kept at least this long. */
  readonly keepAliveMs: number;
}

/** Past any of these a request gets 503 with `Retry-After`. */
export interface CapsModel {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly requests: number;
  readonly requestsPerAddress: number;
  /** Header section of a request, in bytes (431 beyond). */
  readonly headBytes: number;
  /** Header fields of a request (431 beyond). */
  readonly fields: number;
}

export interface ShutdownModel {
  /** Between SIGTERM and the closing of the listeners: readiness fails, requests are served. */
  readonly delayMs: number;
  /** For requests in flight to finish. */
  readonly drainMs: number;
}

export interface LogModel {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** One line per request. */
  readonly access: boolean;
}
