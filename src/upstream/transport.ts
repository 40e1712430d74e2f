import type { ByteStream, FieldNames, Fields } from '../core/index.ts';
import type { OutgoingRequest, ResponseSink } from '../http1/index.ts';

/** Why a request got no response, or not a whole one. */
export interface UpstreamFailure {
  /**
   * - `connect`: no connection was made, so not a byte of the request was sent
   * - `refused`: the upstream said that it has not acted on the request
   * - `oversized`: the upstream takes no header section of this size, so that nothing was sent
   * - `reset`: the connection broke before the response's head was complete
   * - `timeout`: the upstream was silent for too long
   * - `malformed`: the bytes are not a response to this request
   * - `fault`: the gateway itself failed; `cause` is what was thrown
   * - `truncated`: the connection broke or fell silent inside the response's body
   */
  readonly kind:
    | 'connect'
    | 'refused'
    | 'oversized'
    | 'reset'
    | 'timeout'
    | 'malformed'
    | 'fault'
    | 'truncated';
  /** True if the connection had served other requests: a reset may only mean that it was closed while idle. */
  readonly onReusedConnection: boolean;
  /** True if a byte of a response had come, so the upstream has acted on the request. */
  readonly responseBegun: boolean;
  /** The code of the RST_STREAM with which the upstream ended the request's stream (RFC 9113, 7); `null` if it sent none. */
  readonly resetCode: number | null;
  /** What happened, for the log. */
  readonly cause: unknown;
}

/** Sends a request once more that failed. */
export interface Resender {
  /**
   * Sends the request again, to another endpoint if there is one. Call it only if it is safe to do so, and while the sink hears of
   * the failure. Returns `null` if there is no endpoint left for it, or if too many requests are sent again already.
   */
  resend(failure: UpstreamFailure): TransportCall | null;
}

/** A response was silent for longer than its route allows. Streams may be silent by nature, so the endpoint is not to blame. */
export class SilentResponse extends Error {
  override readonly name = 'SilentResponse';

  constructor() {
    super('the response stood still for too long');
  }
}

/** The body of a request ended before its stated length, so the connection was closed. The upstream is not to blame. */
export class BrokenRequest extends Error {
  override readonly name = 'BrokenRequest';

  constructor() {
    super('the body broke off');
  }
}

/** Takes a response, or the failure that ends it: `fail` is the last call then. */
export interface CallSink extends ResponseSink {
  /** Names fields that the upstream sent as never indexed (RFC 7541, 6.2.3). Called before the part that has them. */
  neverIndex(names: FieldNames): void;
  /** Called last, when the upstream agreed to the requested protocol with these fields. The connection is the sink's from here on. */
  switched(fields: Fields, stream: ByteStream): void;
  /** @param resender sends the request once more; none where there is one address only, so that it may be sent again */
  fail(failure: UpstreamFailure, resender?: Resender): void;
}

/** A request that was given to a transport, until its response is over. */
export interface TransportCall {
  /** The endpoint that it went to, as `host:port`. Nothing if the upstream has only one, or none yet. */
  readonly endpoint?: string | null;
  /** The memory for bytes of the response that came and wait until it flows again. Default: none, what waits is still in the kernel. */
  readonly heldBytes?: number;
  /**
   * Lets the response flow again after `data` returned false. No timeout runs until then, so a sink that returned false must
   * eventually call this or `abort`.
   */
  resume(): void;
  /** Gives up the exchange and destroys the connection, without calling the sink again. */
  abort(): void;
}

/** Carries requests to one upstream. The forwarder knows nothing else of sockets and pools. */
export interface Transport {
  /** @param caller whose request it is: one caller may be kept at one endpoint */
  send(request: OutgoingRequest, sink: CallSink, caller: string): TransportCall;
  /** The number of connections that are open now. */
  readonly connections: number;
  /**
   * Closes idle connections at once, busy ones after their response. Resolves when all are gone. A request may still come, from
   * an exchange that began before a reload: it is carried on a connection of its own.
   */
  close(): Promise<void>;
}

/** Carries requests to one address. */
export interface EndpointPool extends Transport {
  /** How many requests are in flight now, health checks and open WebSockets included. Counts them each time. */
  readonly inFlight: number;
}

/** The protocol of an upstream. gRPC is carried by HTTP/2. */
export type UpstreamProtocol = 'http1' | 'h2' | 'grpc';

/** How an upstream over HTTP/2 is reached. */
export interface Http2Options {
  /** Maximum connections that take requests at the same time. */
  readonly maxConnections: number;
  /** Streams on a connection before another connection is opened. */
  readonly maxStreams: number;
  /** How long an upstream with requests in flight may be silent before it is sent a PING. */
  readonly pingIntervalMs: number;
  /** How long after a PING the upstream may be silent before the connection counts as lost. */
  readonly pingTimeoutMs: number;
}

/** TLS to an upstream. Texts are PEM. */
export interface UpstreamTls {
  /** The name to ask for, which the certificate must contain; `null` stands for the host. */
  readonly serverName: string | null;
  /** The authorities to trust; `null` stands for the usual ones. */
  readonly ca: string | null;
  /** The gateway's own certificate, which comes with its key; `null` if it has none. */
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
  /** Its part of the requests, beside those of the others: a number above 0. */
  readonly weight: number;
  /** How the addresses of a name are found: as the system does, or by SRV records of DNS, which have ports of their own. */
  readonly lookup: 'system' | 'srv';
}

/** How to reach one address of an upstream. */
export interface UpstreamOptions extends ConnectionOptions, EndpointAddress {
  /** The host of the configured URL: for certificates, and for requests that name none. */
  readonly name: string;
}

/** How to reach every address of an upstream. Times in milliseconds. */
export interface ConnectionOptions {
  /** How TLS is spoken; `null` for cleartext. */
  readonly tls: UpstreamTls | null;
  readonly protocol: UpstreamProtocol;
  /** Whether each address is sent the host of its own URL as `Host`, whatever the request says. */
  readonly ownHosts: boolean;
  readonly http2: Http2Options;
  /** Longest time to connect, name resolution and TLS included. */
  readonly connectTimeoutMs: number;
  /** How long an idle connection is kept, unless the upstream says `Keep-Alive: timeout`: then 1 s less than that. */
  readonly keepAliveMs: number;
  /** The age, less a random part of up to a fifth, from which a connection takes no further request. */
  readonly maxAgeMs: number;
  /**
   * Maximum connections, which is also how many requests may be in flight. A resting connection closes where a new one would
   * exceed this.
   */
  readonly maxConnections: number;
  /** Largest header section of a response, in bytes. */
  readonly maxHeadBytes: number;
}

/** True if this machine, or this process, had no descriptor left for the connection. */
export function isOwnLack(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE');
}
