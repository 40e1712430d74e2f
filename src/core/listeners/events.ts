import type { Cap, ErrorSide, RpcCode } from '../error.ts';
import type { InvalidReason } from './auth-listener.ts';
import type { ClassName, DecisionOutcome, ShadowRefuser } from './limit-listener.ts';

// The lists here are closed: their words are values of metric labels and in log lines.

/** The protocol of an exchange on the client's side. */
export const PROTOCOLS = ['http1', 'h2', 'grpc', 'grpc_web', 'websocket'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The protocols of gRPC calls, in any form. */
export const CALL_PROTOCOLS: ReadonlySet<Protocol> = new Set(['grpc', 'grpc_web']);

/** How an exchange ended. */
export const OUTCOMES = [
  /** The upstream's response was sent completely. */
  'forwarded',
  /** The gateway itself answered: a refusal or an error. */
  'answered',
  /** The upstream's response broke off, so the client's was aborted as well. */
  'truncated',
  /** The client disconnected first. */
  'abandoned',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface TokenRefusal {
  readonly reason: InvalidReason;
  /** The claim that is missing or of the wrong type, if that is the reason; a name from the configuration or a standard. */
  readonly claim: string | null;
  /** Whose token it is, if known. Identifies a person: never write it unhashed. */
  readonly principal: string | null;
}

/**
 * Which limits a request consumes: the global one and those of its bucket, one of these, that of preflights, or none. Depends on
 * the policies of its route, and on its caller.
 */
export const CONSUMED_LIMITS = ['all', 'global', 'bucket', 'preflights', 'none'] as const;
export type ConsumedLimits = (typeof CONSUMED_LIMITS)[number];

/** The limit claims in a caller's token, by name. */
export interface ClaimedValues {
  /** The groups that the caller belongs to. */
  readonly groups: ReadonlyMap<string, string>;
  /** Whole numbers of units, from 1 on. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** A decision of the limits about a request. */
export interface DecisionRecord {
  /** The bucket as configured; `null` if the request has none. */
  readonly bucket: string | null;
  /** Value of the bucket's main parameter, '' if it has none. May be a secret: never write it unhashed. */
  readonly main: string;
  readonly outcome: DecisionOutcome;
  /** The period of the window that refused, as configured; `''` unless its limit has several windows. */
  readonly period: string;
  readonly consumes: ConsumedLimits;
  /**
   * When the decision was made, in milliseconds since the epoch, by the clock of the limits: differences between two such times are
   * exact.
   */
  readonly decidedAtMs: number;
}

/** What refused a request before its limits were checked: a restriction, or `blocked` in limits.yaml. */
export const RESTRICTED_BY = ['address', 'caller', 'webhook', 'blocked_address', 'blocked_caller'] as const;
export type RestrictedBy = (typeof RESTRICTED_BY)[number];

/** The scopes that a service's 429 may have. */
export const SCOPES_OF_429 = ['user', 'shared', 'global'] as const;

/** A request refused by a restriction or a block. */
export interface RestrictionRecord {
  readonly by: RestrictedBy;
  /** The limits that it could have consumed. */
  readonly consumes: ConsumedLimits;
  /** Whether it had a token that was not checked, so that its caller is unknown. */
  readonly isCallerUnknown: boolean;
}

/** The place of an exchange in a trace. Ids are hexadecimal: 32 digits for a trace, 16 for a span. */
export interface TraceRecord {
  readonly traceId: string;
  /** The span that it is part of; `null` if it begins the trace. */
  readonly parentId: string | null;
  /** The ids of its own span and of the span of its upstream. */
  readonly spanId: string;
  readonly upstreamSpanId: string;
  /** Whether the trace is recorded. */
  readonly sampled: boolean;
}

/** What is known about an exchange after its last byte, for metrics and the access log. */
export interface ExchangeRecord {
  readonly requestId: string;
  /** When the request's head had arrived, milliseconds since the epoch. */
  readonly arrivedAtMs: number;
  /** Number of the exchange in this process: orders those of one thread within a millisecond. */
  readonly sequence: number;
  readonly protocol: Protocol;
  readonly method: string;
  /** The request's host as the configuration names it; `null` if no configured name matches. */
  readonly host: string | null;
  /** The canonical path; `null` if the request was refused before it was read. May contain secrets: never write it unchanged. */
  readonly path: string | null;
  /** The path as the log writes it with `log.paths: plain`: without a query, unbounded and unescaped; `null` if it is masked. */
  readonly plainPath: string | null;
  /** The route as configured; `null` if none matched. */
  readonly route: string | null;
  readonly upstream: string | null;
  readonly clientAddress: string;
  /** Status of the response; 0 if none was started. For a refused gRPC call, the equivalent HTTP status. */
  readonly status: number;
  readonly grpcStatus: RpcCode | null;
  readonly outcome: Outcome;
  /** Bytes of the request's and the response's body. */
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** Time from the request's head to the last byte of the response. */
  readonly durationMs: number;
  /** Time from sending the request upstream to the head of the response; `null` if there was none. */
  readonly upstreamMs: number | null;
  /** The address of the last attempt, as `host:port`; `null` if the upstream has only one, or the request was not sent. */
  readonly endpoint: string | null;
  readonly caller: {
    readonly class: ClassName;
    /** The stable key of a bot or user; `null` for an address. Identifies a person: never write it unhashed. */
    readonly principal: string | null;
  };
  /** The limit claims of the caller's token; `null` if there are none. Groups name customers: never write them unhashed. */
  readonly claimed: ClaimedValues | null;
  /** Why its token was refused, even if it was served without one; `null` if the token was accepted, or there was none. */
  readonly tokenRefused: TokenRefusal | null;
  /** What limits decided; `null` if none were checked. */
  readonly decision: DecisionRecord | null;
  /** The restriction that refused it; `null` if none did. */
  readonly restriction: RestrictionRecord | null;
  /**
   * When it counted towards a restriction, because it ended invalid or with a webhook's 404 (docs/contract.md, 5.1 and 5.3);
   * `null` if it did not.
   */
  readonly offenceAtMs: number;
  /** When the unit consumed of a resource limit was returned; `null` if it was not. */
  readonly returnedAtMs: number;
  /** The final cost, if its response was to name that; else `null`. */
  readonly price: number | null;
  /** The scope of a service's 429; `null` for other responses. */
  readonly scopeOf429: (typeof SCOPES_OF_429)[number] | null;
  readonly isPreflight: boolean;
  /** The hash of the webhook called; '' if none. */
  readonly webhook: string;
  /** Whether its caller is under `never_restrict`. */
  readonly isSpared: boolean;
  /** Time held for a limit (`patience`) instead of being refused; 0 if it was not held. */
  readonly heldMs: number;
  /** Time from the request's head until it was sent upstream; `null` if it was not. */
  readonly sentAfterMs: number | null;
  /** Its place in a trace; `null` if tracing is off. */
  readonly trace: TraceRecord | null;
  /** The shadow limits that would have refused it. */
  readonly shadowRefusals: readonly ShadowRefuser[];
  /** The request's `User-Agent`; `null` if it has none, or `log.fields` does not include it. */
  readonly userAgent: string | null;
  /** Whether it lasted so long that its admission was recorded separately (see `ExchangeListener.lasting`). */
  readonly lasted: boolean;
  /** Whether the request was sent a second time. */
  readonly retried: boolean;
  /** Why the gateway itself answered: the error's message and cause, if any, safe to log. */
  readonly error: {
    readonly message: string;
    readonly side: ErrorSide;
    /** The cap that was reached. */
    readonly cap: Cap | null;
    readonly cause: string | null;
  } | null;
}

/** A service authenticates connections (NTLM, Negotiate), and a client's connection cannot own one. */
export interface RemovedChallenge {
  readonly upstream: string;
  /**
   * - `client_h2`: the client speaks HTTP/2, whose requests share a connection
   * - `upstream_h2`: the gateway speaks HTTP/2 with the service
   * - `proxy`: a proxy, trusted or not, whose connections may serve many clients
   */
  readonly because: 'client_h2' | 'upstream_h2' | 'proxy';
}

/** Is notified of a gateway's exchanges. Called on the request's path: must be quick and must not throw. */
export interface ExchangeListener {
  /** An upstream answered a request with 101, so it became a WebSocket. `finished` is called at its end. */
  switched(upstream: string): void;
  /** An admitted exchange is still in progress: a stream, a WebSocket, a slow one. Called once, before `finished`. */
  lasting(record: ExchangeRecord): void;
  finished(record: ExchangeRecord): void;
  /** A peer that is not a trusted proxy sent forwarding headers; they were ignored. */
  untrustedForwarding(): void;
  /** Challenges that the client cannot answer were removed from a response. */
  challengeRemoved(challenge: RemovedChallenge): void;
}

/** Why a listener with the PROXY protocol closed a connection. */
export const PROXY_HEADER_FAULTS = [
  /** It does not come from a trusted proxy. */
  'untrusted_peer',
  /** It begins with something else. */
  'missing',
  /** Its header is invalid, or it ended inside the header. */
  'broken',
  /** Its header did not arrive in time. */
  'late',
] as const;
export type ProxyHeaderFault = (typeof PROXY_HEADER_FAULTS)[number];

export const HANDSHAKE_OUTCOMES = [
  /** It succeeded, with a new session. */
  'full',
  /** It succeeded, with an earlier session. */
  'resumed',
  /** It took too long. */
  'timeout',
  /** No cap had room for the connection, or more handshakes than `caps.tls_handshakes` were in progress. */
  'capacity',
  /** The client did not speak TLS. */
  'cleartext',
  /** There is no common version, cipher or protocol. */
  'no_overlap',
  /** The client sent no certificate, or one that cannot be verified. */
  'client_certificate',
  /** The client aborted it with an alert, for example because it does not trust the certificate. */
  'rejected',
  /** The client closed the connection during it. */
  'closed',
  /** Any other TLS error. */
  'malformed',
] as const;
export type HandshakeOutcome = (typeof HANDSHAKE_OUTCOMES)[number];

export const HTTP2_FAULTS = [
  /** Too many of its streams were reset, by the client or because of what it sent. */
  'resets',
  /** Too many frames that belong to no request and that no response explains, such as PING or WINDOW_UPDATE. */
  'control_frames',
  /** A header block had too many frames. */
  'continuations',
  /** Too many frames were empty. */
  'invalid_frames',
  /** Too many streams were opened past the maximum. */
  'refused_streams',
  /** Any other violation of RFC 9113. */
  'protocol',
] as const;
export type Http2FaultReason = (typeof HTTP2_FAULTS)[number];

/** Why a connection or stream was ended because its client had not read. */
export const READER_ENDS = [
  /** The client read less than `min_read_rate` on average, or nothing for `timeouts.client_read`. */
  'slow',
  /** All clients together left more unread than `caps.buffered`. */
  'buffered',
] as const;

/** Is notified of connections. Called for each of them: must be quick and must not throw. */
export interface ConnectionListener {
  /** @param peer the peer's address */
  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void;
  /** @param listener its key under `listen` */
  handshakeEnded(listener: string, outcome: HandshakeOutcome): void;
  http2Closed(fault: Http2FaultReason): void;
  /** A client's connection or stream was ended because it read too slowly. */
  readTooSlowly(): void;
  /** Clients' connections that held this many bytes were closed, because more was held than `caps.buffered` allows. */
  buffersFull(connections: number, bytes: number): void;
}

export interface ConfigEvent {
  readonly generation: number;
  readonly hash: string;
}

export interface AppliedEvent extends ConfigEvent {
  readonly needsRestart: readonly string[];
}

/** A configuration that replaced another. */
export interface ReplacedEvent extends AppliedEvent {
  /** The changes in words, one per line: stricter ones first. */
  readonly changes: readonly string[];
}

/** Is notified of the outcome of reloads. Must be quick and must not throw. */
export interface ReloadListener {
  /** The gateway starts with this configuration. */
  started(event: AppliedEvent): void;
  /** A valid configuration was read, with these warnings, one per line. */
  warned(warnings: readonly string[]): void;
  /** Another configuration is in use from now on. */
  applied(event: ReplacedEvent): void;
  /** Another configuration is valid but waits for the keys of its identity provider. */
  waiting(event: ConfigEvent): void;
  /** The files have errors, one per line; the current configuration stays in use. */
  refused(errors: readonly string[]): void;
  /** The files have not changed since they were last read. */
  unchanged(): void;
  /** The files cannot be watched and are polled instead. */
  unwatched(cause: unknown): void;
}

export const ADMIN_REFUSALS = [
  /** It had a wrong token. */
  'wrong_token',
  /** Its address recently sent too many wrong tokens. */
  'too_many_tokens',
  /** It needs the admin token: it had none, or none is configured. */
  'no_token',
  /** It was sent by a page of another origin, or through a host name that is not this machine's. */
  'foreign_origin',
] as const;
export type AdminRefusal = (typeof ADMIN_REFUSALS)[number];

export const ADMIN_CHANGES = ['restriction_added', 'restriction_lifted', 'buckets_reset'] as const;

export interface AdminChange {
  readonly what: (typeof ADMIN_CHANGES)[number];
  /** The client concerned: an address, or the pseudonym of a caller; `null` if not known here, or if all are. */
  readonly client: string | null;
  /** The one bucket concerned; `null` if several or none are. */
  readonly bucket: string | null;
  /** The source of the change: the address of the peer. */
  readonly by: string;
}

/** What a request to the admin listener is for. */
export const ADMIN_ENDPOINTS = ['metrics', 'status', 'health', 'api', 'notices', 'other'] as const;
export type AdminEndpoint = (typeof ADMIN_ENDPOINTS)[number];

/**
 * Is notified of what the admin API refuses and changes, and of failures of the admin listener. Must be quick and must not throw.
 */
export interface AdminApiListener {
  /** @param address the address of the peer */
  refused(refusal: AdminRefusal, address: string): void;
  changed(change: AdminChange): void;
  failed(endpoint: AdminEndpoint, error: unknown): void;
}

/** A sender that looks like a proxy in front of the gateway but is not trusted as one. */
export interface UnlistedProxy {
  readonly address: string;
  readonly field: 'X-Forwarded-For' | 'Forwarded';
  /** When it was first seen, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The meaning, as a sentence for the operator. */
  readonly message: string;
}
