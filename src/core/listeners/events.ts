import type { Cap } from '../error.ts';
import type { RpcCode } from '../rpc-code.ts';
import type { ShadowRefuser } from './limit-listener.ts';

/** The protocol of an exchange on the client's side. */
export type Protocol = 'http1' | 'h2' | 'grpc' | 'websocket';

/** How an exchange ended. */
export type Outcome =
  /** The upstream's response went out whole. */
  | 'forwarded'
  /** The gateway answered by itself: a refusal or an error. */
  | 'answered'
  /** The upstream's response broke off, so the client's was broken off too. */
  | 'truncated'
  /** The client went away first. */
  | 'abandoned';

/** Why a token was refused. */
export interface TokenRefusal {
  /** One of a closed list, the label of a metric. */
  readonly reason: string;
  /** The claim that is missing or of the wrong type, if that is the reason; a name from the configuration or a standard. */
  readonly claim: string | null;
  /** Whose token it is, if that is known. Identifies a person: never write it unhashed. */
  readonly principal: string | null;
}

/** Which limits a request draws on, by its route's policies and its caller: on both kinds, on one, or on none. */
export type Draws = 'all' | 'global' | 'bucket' | 'none';

/** What limits decided about a request. */
export interface DecisionRecord {
  /** The bucket as configured; null: it has none. */
  readonly bucket: string | null;
  /** Value of the bucket's main parameter, '' if it has none. May be a secret: never write it unhashed. */
  readonly main: string;
  /** `admitted`, or the limit that refused. */
  readonly outcome: 'admitted' | 'global' | 'caller' | 'resource';
  readonly draws: Draws;
  /** When, in milliseconds since the epoch: by the clock that the limits count by, so that differences are exact. */
  readonly decidedAtMs: number;
}

/** What refused a request before its limits were asked: a restriction, or `blocked` in limits.yaml. */
export type RestrictedBy = 'address' | 'caller' | 'webhook' | 'blocked_address' | 'blocked_caller';

/** A request that a restriction or a block refused. */
export interface RestrictionRecord {
  readonly by: RestrictedBy;
  /** When, by the clock of `DecisionRecord.decidedAtMs`. */
  readonly atMs: number;
  /** What it could have drawn on. */
  readonly draws: Draws;
  /** It came with a token that was not looked at, so its caller is not known. */
  readonly isCallerUnknown: boolean;
}

/** When something happened between the decisions of other exchanges. */
export interface MomentRecord {
  /** By the clock of `DecisionRecord.decidedAtMs`. */
  readonly atMs: number;
  /** The number of the latest exchange by then: those with a higher one were decided later. */
  readonly after: number;
}

/** The place of an exchange in a trace. Ids are hexadecimal digits: 32 of a trace, 16 of a span. */
export interface TraceRecord {
  readonly traceId: string;
  /** The span that it is part of; null: it begins the trace. */
  readonly parentId: string | null;
  /** Its own span, and that of its upstream. */
  readonly spanId: string;
  readonly upstreamSpanId: string;
  /** Whether the trace is recorded. */
  readonly sampled: boolean;
}

/** What is known of an exchange after its last byte, for metrics and the access log. */
export interface ExchangeRecord {
  readonly requestId: string;
  /** When the request's head had arrived, milliseconds since the epoch. */
  readonly arrivedAtMs: number;
  /** Number of the exchange in this process, from 1 in order of arrival: orders those of the same millisecond. */
  readonly sequence: number;
  readonly protocol: Protocol;
  readonly method: string;
  /** Canonical; null: it was refused before it was read. May hold secrets: never write it as it is. */
  readonly path: string | null;
  /** The route as configured, null when none matched. */
  readonly route: string | null;
  readonly upstream: string | null;
  readonly clientAddress: string;
  /** Status of the response; 0 if none was started. For a refused gRPC call, the equivalent HTTP status. */
  readonly status: number;
  /** How a gRPC call ended; null: not a gRPC call, or broken off. */
  readonly grpcStatus: RpcCode | null;
  readonly outcome: Outcome;
  /** Bytes of the request's and the response's body. */
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** From the request's head to the last byte of the response. */
  readonly durationMs: number;
  /** From sending the request upstream to the head of the response; null if there was none. */
  readonly upstreamMs: number | null;
  readonly caller: {
    readonly class: 'bot' | 'user' | 'address';
    /** The stable key of a bot or user; null for an address. Identifies a person: never write it unhashed. */
    readonly principal: string | null;
  };
  /** Why its token was refused, even if it was served without one; null: the token was accepted, or there was none. */
  readonly tokenRefused: TokenRefusal | null;
  /** What limits decided; null if none were asked. */
  readonly decision: DecisionRecord | null;
  /** Null: no restriction refused it. */
  readonly restriction: RestrictionRecord | null;
  /**
   * When it counted towards a restriction: it ended invalid, or with a webhook's 404 (docs/contract.md, 5.1 and 5.3). Null: it does not
   * count.
   */
  readonly offence: MomentRecord | null;
  /** When it returned the unit that it drew on a resource limit; null: it did not. */
  readonly returned: MomentRecord | null;
  /** The scope of a service's 429; null: its service did not answer so. */
  readonly scopeOf429: 'user' | 'shared' | 'global' | null;
  readonly isPreflight: boolean;
  /** The hash of the webhook that it called; '' if it called none. */
  readonly webhook: string;
  /** Its caller is under `never_restrict`. */
  readonly isSpared: boolean;
  /** How long limits held it, for which it would have been refused otherwise; 0: not at all. */
  readonly heldMs: number;
  /** From the request's head until it was sent upstream; null: it was not. */
  readonly sentAfterMs: number | null;
  /** Null: the gateway takes part in no traces. */
  readonly trace: TraceRecord | null;
  /** What would have refused it if it were not in shadow. */
  readonly shadowRefusals: readonly ShadowRefuser[];
  /** What the client says that it is; null: nothing, or nobody wants to know. */
  readonly userAgent: string | null;
  /** It lasted so long that its admission was recorded apart (see `ExchangeListener.lasting`). */
  readonly lasted: boolean;
  /** Whether the request was sent a second time. */
  readonly retried: boolean;
  /** Why the gateway answered by itself: the error's message and its cause, if any, fit for a log. */
  readonly error: {
    readonly message: string;
    readonly side: string;
    /** The cap that was reached. */
    readonly cap: Cap | null;
    readonly cause: string | null;
  } | null;
}

/** Hears of the exchanges of a gateway. Called on the request's path: must be quick and must not throw. */
export interface ExchangeListener {
  started(): void;
  /**
   * A request to this upstream was answered 101, and became a WebSocket, so it is no longer in flight. `finished` is called when that
   * ends.
   */
  switched(upstream: string): void;
  /** An admitted exchange is still under way: a stream, a WebSocket, a slow one. Called once, before `finished`. */
  lasting(record: ExchangeRecord): void;
  finished(record: ExchangeRecord): void;
  /** A peer that is not a trusted proxy sent forwarding headers; they were ignored. */
  untrustedForwarding(): void;
}

/**
 * Why a listener for the PROXY protocol closed a connection:
 * - `untrusted_peer`: it comes from no trusted proxy
 * - `missing`: it begins with something else
 * - `broken`: its header is not valid, or it ended inside the header
 * - `late`: its header did not come in time
 */
export type ProxyHeaderFault = 'untrusted_peer' | 'missing' | 'broken' | 'late';

/**
 * How a TLS handshake ended:
 * - `full`, `resumed`: well, with a new session or an earlier one
 * - `timeout`: it took too long
 * - `capacity`: there was no room for the connection, or more handshakes than `caps.tls_handshakes` were under way
 * - `cleartext`: the client did not speak TLS
 * - `no_overlap`: no version, cipher or protocol is spoken by both
 * - `client_certificate`: the client sent none, or one that cannot be verified
 * - `rejected`: the client broke it off with an alert, for example as it does not trust the certificate
 * - `closed`: the client closed the connection
 * - `malformed`: anything else that breaks TLS
 */
export type HandshakeOutcome =
  | 'full'
  | 'resumed'
  | 'timeout'
  | 'capacity'
  | 'cleartext'
  | 'no_overlap'
  | 'client_certificate'
  | 'rejected'
  | 'closed'
  | 'malformed';

/**
 * Why a connection over HTTP/2 was closed:
 * - `resets`: too many of its streams ended by a reset, the client's or one that it provoked
 * - `unexplained_bytes`: too much came that is part of no request and acknowledges no response, such as PING or WINDOW_UPDATE
 * - `control_frames`: it sent PING or SETTINGS faster than they can be acknowledged
 * - `continuations`: a header block in too many frames
 * - `invalid_frames`: too many frames that are invalid or empty
 * - `refused_streams`: too many streams past the maximum
 * - `protocol`: any other violation of RFC 9113
 */
export type Http2FaultReason =
  | 'resets'
  | 'unexplained_bytes'
  | 'control_frames'
  | 'continuations'
  | 'invalid_frames'
  | 'refused_streams'
  | 'protocol';

/** Hears how connections begin and end. Called for each of them: must be quick and must not throw. */
export interface ConnectionListener {
  /** @param peer address of the connection's other end */
  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void;
  /** @param listener its key under `listen` */
  handshakeEnded(listener: string, outcome: HandshakeOutcome): void;
  http2Closed(fault: Http2FaultReason): void;
}

/** A configuration in use, or about to be. */
export interface ConfigEvent {
  readonly generation: number;
  readonly hash: string;
}

export interface AppliedEvent extends ConfigEvent {
  /** Changed keys that take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

/** A configuration that replaced another. */
export interface ReplacedEvent extends AppliedEvent {
  /** What changed, in words, one line each: what is stricter comes first. */
  readonly changes: readonly string[];
}

/** Hears how reloads end. Must be quick and must not throw. */
export interface ReloadListener {
  /** The gateway starts with this configuration. */
  started(event: AppliedEvent): void;
  /** A valid configuration was read, with these warnings, one line each. */
  warned(warnings: readonly string[]): void;
  /** Another configuration is in use from now on. */
  applied(event: ReplacedEvent): void;
  /** Another configuration is valid but waits for the keys of its identity provider. */
  waiting(event: ConfigEvent): void;
  /** The files have errors, one line each; the current configuration stays in use. */
  refused(errors: readonly string[]): void;
  /** The files have not changed since they were last read. */
  unchanged(): void;
  /** The files cannot be watched and are polled instead. */
  unwatched(cause: unknown): void;
}

/** Why the admin listener turned a request away. */
export type AdminRefusal =
  /** It brought a wrong token. */
  | 'wrong_token'
  /** Its address brought too many wrong tokens of late. */
  | 'too_many_tokens'
  /** It needs a token and brought none, or none is configured. */
  | 'no_token'
  /** A page of another origin sent it, or a name led it here that is not of this machine. */
  | 'foreign_origin';

/** Something that an operator changed by the admin API. */
export interface AdminChange {
  readonly what: 'restriction_added' | 'restriction_lifted' | 'buckets_reset';
  /** The client of the gateway that it is about: an address, or the pseudonym of a caller; null: not known here, or all clients. */
  readonly client: string | null;
  /** The one bucket that it is about; null: it is about more, or about none. */
  readonly bucket: string | null;
  /** Where the change came from: the address of the peer. */
  readonly by: string;
}

/** What of the admin listener a request is for. */
export type AdminEndpoint = 'metrics' | 'status' | 'health' | 'api' | 'notices' | 'other';

/** Hears what the admin API refuses and changes, and what the admin listener fails to answer. Must be quick and must not throw. */
export interface AdminApiListener {
  /** `address`: of the peer. */
  refused(refusal: AdminRefusal, address: string): void;
  changed(change: AdminChange): void;
  /** A fault of the gateway: the request was answered 500. */
  failed(endpoint: AdminEndpoint, error: unknown): void;
}
