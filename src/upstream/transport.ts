import type { AnswerSink, UpstreamRequest } from '../http1/index.ts';

/** What became of a request that got no (whole) answer. */
export interface UpstreamFailure {
  /**
   * - `connect`: no connection, so not a byte of the request was sent
   * - `reset`: the connection broke before the answer's head was complete
   * - `timeout`: the upstream kept silent for too long
   * - `malformed`: what came is not an HTTP/1.1 answer to this request
   * - `truncated`: the connection broke or fell silent inside the answer's body
   */
  readonly kind: 'connect' | 'reset' | 'timeout' | 'malformed' | 'truncated';
  /** The request went out on a connection that had served others: a reset may only mean that it had grown old. */
  readonly onReusedConnection: boolean;
  /** A byte of an answer had come: the upstream has acted on the request. */
  readonly answerBegun: boolean;
  /** For the log. */
  readonly cause: unknown;
}

/** An answer, or what became of a request that got none: `fail` is the last call then. */
export interface CallSink extends AnswerSink {
  fail(failure: UpstreamFailure): void;
}

/** A request on its way. */
export interface TransportCall {
  /**
   * Lets the answer flow again after `data` returned false. No timeout runs until then: whoever has enough of an answer
   * must in the end call this or `abort`.
   */
  resume(): void;
  /** Gives the exchange up; the connection is destroyed, and the sink hears nothing more. */
  abort(): void;
}

/** Carries requests to one upstream. The forwarder knows nothing else of sockets and pools. */
export interface Transport {
  send(request: UpstreamRequest, sink: CallSink): TransportCall;
  /** Connections open now. */
  readonly connections: number;
  /**
   * Closes idle connections at once, busy ones after their answer. Resolves when all are gone. A request that comes later all the
   * same, of an exchange that began before a reload, is carried on a connection of its own.
   */
  close(): Promise<void>;
}
