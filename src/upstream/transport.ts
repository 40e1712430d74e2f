import type { ByteStream, FieldNames, Fields } from '../core/index.ts';
import type { OutgoingRequest, ResponseSink } from '../wire/http1/index.ts';

/** Why a request got no response, or an incomplete one. */
export interface UpstreamFailure {
  /**
   * - `connect`: no connection was made, so nothing of the request was sent
   * - `unsent`: the connection broke before a byte of the request left
   * - `refused`: the upstream said that it has not acted on the request
   * - `oversized`: the upstream does not accept a header section of this size, so nothing was sent
   * - `reset`: the connection broke before the response's head was complete
   * - `timeout`: the upstream was silent for too long
   * - `malformed`: the bytes are not a response to this request
   * - `fault`: the gateway itself failed; `cause` is the error
   * - `truncated`: the connection broke or fell silent during the response's body
   */
  readonly kind:
    | 'connect'
    | 'unsent'
    | 'refused'
    | 'oversized'
    | 'reset'
    | 'timeout'
    | 'malformed'
    | 'fault'
    | 'truncated';
  /** True if the connection had served other requests: a reset may only mean that it was closed while idle. */
  readonly onReusedConnection: boolean;
  /** True if a byte of a response had arrived, so the upstream has acted on the request. */
  readonly responseBegun: boolean;
  /** The code of the RST_STREAM with which the upstream ended the request's stream (RFC 9113, 7); `null` if there was none. */
  readonly resetCode: number | null;
  /** The cause, for the log. */
  readonly cause: unknown;
}

/** Sends a failed request again. */
export interface Resender {
  /**
   * Sends the request to another endpoint if there is one, else to the same one. Call it only if that is safe, and from within
   * the sink's `fail`. Returns `null` if there is no endpoint left, or if too many requests are already being retried.
   */
  resend(failure: UpstreamFailure): TransportCall | null;
}

/** A response was silent for longer than its route allows. Streams may be silent by nature, so the endpoint is not to blame. */
export class SilentResponse extends Error {
  override readonly name = 'SilentResponse';

  constructor() {
    super('the response made no progress for too long');
  }
}

/** The body of a request ended before its stated length, so the connection was closed. The upstream is not to blame. */
export class BrokenRequest extends Error {
  override readonly name = 'BrokenRequest';

  constructor() {
    super('the body broke off');
  }
}

/** An HTTP/1.1 connection that belongs to a client's connection: it must not carry requests of other clients. */
export interface OwnedConnection {
  /** Closes at once if nothing is in flight, else after the response. */
  closeWhenIdle(): void;
}

/** A client's connection, to which connections to upstreams may belong. */
export interface ConnectionOwner {
  /** Takes a connection. Returns false if it must close instead. */
  keep(connection: OwnedConnection): boolean;
  /** Called when a connection that was taken has closed. */
  lost(connection: OwnedConnection): void;
}

/** Receives a response, or the failure that ends it: then `fail` is the last call. */
export interface CallSink extends ResponseSink {
  /** The client's connection, if it may own connections to upstreams; else `null` or absent. */
  readonly owner?: ConnectionOwner | null;
  /**
   * True if the upstream may have authenticated the connection, or has begun to: after the response it belongs to `owner`, or
   * closes. May become true until the end of the response. Default: false; the connection then serves any client.
   */
  readonly isPrivate?: boolean;
  /** The values in the client's cookies that may name an endpoint (`TransportCall.mark`), unchecked. Default: none. */
  readonly marks?: readonly string[];
  /** Names fields that the upstream marked as never indexed (RFC 7541, 6.2.3). Called before the part that contains them. */
  neverIndex(names: FieldNames): void;
  /**
   * Called last, when the upstream agreed to the requested protocol with these fields. The connection belongs to the sink from
   * now on.
   */
  switched(fields: Fields, stream: ByteStream): void;
  /** @param resender sends the request again; none if there is only one address, which may be retried with `send` */
  fail(failure: UpstreamFailure, resender?: Resender): void;
}

/** A request passed to a transport, until its response is over. */
export interface TransportCall {
  /** The endpoint that the request went to, as `host:port`. Absent if the upstream has only one, or none was chosen yet. */
  readonly endpoint?: string | null;
  /** The value of the cookie that names the endpoint; `null` or absent without `balance: { cookie }`. */
  readonly mark?: string | null;
  /** Bytes of memory that hold response data until it is resumed. Default: none, since the data is still in the kernel. */
  readonly heldBytes?: number;
  /** Whether it still waits for a connection or a stream, so that the upstream does not know of it. Default: false. */
  readonly isQueued?: boolean;
  /**
   * Resumes the response after `data` returned false. No timeout runs until then, so a sink that returned false must eventually
   * call this or `abort`.
   */
  resume(): void;
  /** Gives up the exchange and destroys the connection, without calling the sink again. */
  abort(): void;
}

/** Carries requests to one upstream. The forwarder knows nothing else about sockets and pools. */
export interface Transport {
  /** @param caller the caller of the request: one caller may be kept at one endpoint */
  send(request: OutgoingRequest, sink: CallSink, caller: string): TransportCall;
  readonly connections: number;
  /**
   * Closes idle connections at once, busy ones after their response. Resolves when all are closed. A request may still arrive,
   * from an exchange that began before a reload: it gets a new connection.
   */
  close(): Promise<void>;
}

/** Carries requests to one address. */
export interface EndpointPool extends Transport {
  /** Requests in flight, including health checks and open WebSockets. Computed on each call. */
  readonly inFlight: number;
  /** Whether it has an idle connection that belongs to this owner. */
  holdsFor(owner: ConnectionOwner): boolean;
}

/** The protocol of an upstream. gRPC is carried over HTTP/2. */
export type UpstreamProtocol = 'http1' | 'h2' | 'grpc';

/** How an HTTP/2 upstream is reached. */
export interface Http2Options {
  /** Maximum connections that accept requests at the same time. */
  readonly maxConnections: number;
  /** Streams on a connection before another connection is opened. */
  readonly maxStreams: number;
  /** How long an upstream with requests in flight may be silent before it gets a PING. */
  readonly pingIntervalMs: number;
  /** How long after a PING the upstream may be silent before the connection counts as lost. */
  readonly pingTimeoutMs: number;
}

/** TLS to an upstream. Texts are PEM. */
export interface UpstreamTls {
  /** The server name to send, which the certificate must contain; `null` for the host. */
  readonly serverName: string | null;
  /** The authorities to trust; `null` for the system's defaults. */
  readonly ca: string | null;
  /** The gateway's own certificate, with its key; `null` if it has none. */
  readonly certificate: string | null;
  readonly key: string | null;
  /** False if any certificate is accepted. */
  readonly verify: boolean;
}

/** Where an upstream listens: a name to resolve or an IP address, with a port. */
export interface EndpointAddress {
  readonly host: string;
  readonly port: number;
}

/** One address of an upstream as the configuration lists it. */
export interface EndpointOptions extends EndpointAddress {
  /** Its share of the requests, relative to others: a number above 0. */
  readonly weight: number;
  /** True if it gets requests only where no other address is healthy. Default: false. */
  readonly backup?: boolean;
  /** How the addresses of a name are found: as the system does, or by DNS SRV records, which include ports. */
  readonly lookup: 'system' | 'srv';
}

export interface UpstreamOptions extends ConnectionOptions, EndpointAddress {
  /** The host of the configured URL: for certificates, and for requests without a host. */
  readonly name: string;
}

/** How to reach every address of an upstream. Times in milliseconds. */
export interface ConnectionOptions {
  /** The TLS settings; `null` for cleartext. */
  readonly tls: UpstreamTls | null;
  readonly protocol: UpstreamProtocol;
  /** Whether each address gets the host of its own URL as `Host`, whatever the request says. */
  readonly ownHosts: boolean;
  readonly http2: Http2Options;
  /** Maximum time to connect, including name resolution and TLS. */
  readonly connectTimeoutMs: number;
  /** How long an idle connection is kept, unless the upstream says `Keep-Alive: timeout`: then 1 s less than that. */
  readonly keepAliveMs: number;
  /** The age, less a random part of up to a fifth, from which a connection takes no further requests. */
  readonly maxAgeMs: number;
  /** Maximum connections, and so maximum requests in flight. If a new connection would exceed this, a resting one is closed. */
  readonly maxConnections: number;
  /** Whether responses that break rules of RFC 9112 in harmless ways are read. Default: false. */
  readonly lenient?: boolean;
  /** Largest header section of a response, in bytes. */
  readonly maxHeadBytes: number;
}

/** True if this machine or process had no descriptor left for the connection. */
export function isOwnLack(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE');
}
