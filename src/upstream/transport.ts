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
  /** The connection had served other requests: a reset may only mean that it was closed while idle. */
  readonly onReusedConnection: boolean;
  /** A byte of a response had come, so the upstream has acted on the request. */
  readonly responseBegun: boolean;
  /** The code of the RST_STREAM by which the upstream ended the request's stream (RFC 9113, 7); null: by none. */
  readonly resetCode: number | null;
  /** For the log. */
  readonly cause: unknown;
}

/** Takes a response, or the failure that ends it: `fail` is the last call then. */
export interface CallSink extends ResponseSink {
  /** The upstream sends fields of these names as never indexed (RFC 7541, 6.2.3). Comes before the part that has them. */
  neverIndex(names: FieldNames): void;
  /** The upstream agreed to the protocol that was asked for, with these fields. The connection is the sink's; the last call. */
  switched(fields: Fields, stream: ByteStream): void;
  fail(failure: UpstreamFailure): void;
}

/** A request on its way. */
export interface TransportCall {
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
  send(request: OutgoingRequest, sink: CallSink): TransportCall;
  /** Connections open now. */
  readonly connections: number;
  /**
   * Closes idle connections at once, busy ones after their response. Resolves when all are gone. A request may still come, from
   * an exchange that began before a reload: it is carried on a connection of its own.
   */
  close(): Promise<void>;
}
