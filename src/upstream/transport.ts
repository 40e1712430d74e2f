import type { Fields } from '../core/index.ts';

/** How long a body is, as the framing headers say: so many bytes, or unknown until it ends (chunked). */
export type BodyLength = number | 'chunked';

/** A request as it goes to the upstream. */
export interface UpstreamRequest {
  readonly method: string;
  /** Origin-form: path and query. */
  readonly target: string;
  /**
   * Every field but the framing (`Content-Length`, `Transfer-Encoding`) and `Connection`, which the transport writes.
   * They go out as they are: whoever makes a value from something else than a parsed field sees to it that it holds no
   * control byte and no character above 0xff, of which latin-1 would make another (U+010A a line feed).
   */
  readonly fields: Fields;
  readonly bodyLength: BodyLength;
  /** Where the body comes from; null exactly when `bodyLength` is 0. */
  readonly body: BodySource | null;
  /** Milliseconds from the last byte of the request to the first of the answer. */
  readonly firstByteTimeoutMs: number;
  /** Milliseconds between two bytes of the answer's body. */
  readonly idleTimeoutMs: number;
}

/** A body that waits to be read. */
export interface BodySource {
  /** Whether `start` was called: from then on the body cannot be sent a second time. */
  readonly started: boolean;
  /** Lets the bytes flow into `sink`. Called at most once, when an upstream connection is held. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
}

export interface BodySink {
  /** One piece, owned by the sink from now on. False: pause, until the sink calls `resume` on the source. */
  chunk(bytes: Buffer): boolean;
  end(): void;
  /** The body broke off: the upstream must not take what it got for the whole. */
  fail(): void;
}

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

/** Says that lent bytes are needed no more; a write's callback fits. With an error they are not lent out again at all. */
export type Taken = (error?: Error | null) => void;

/**
 * Takes an upstream's answer: any number of `info`, then either `whole`, or `head`, `data`... and `end`. `fail` may come
 * instead of any of them and is the last call, as are `whole` and `end`.
 *
 * The fields hold what the upstream sent in its letter case, without `Transfer-Encoding`; hop-by-hop fields are still
 * among them.
 */
export interface AnswerSink {
  /** An interim answer: 102 to 199, never 100 or 101. */
  info(status: number, fields: Fields): void;
  /** A small answer that came in one piece; every character of the body is one byte. */
  whole(status: number, reason: string, fields: Fields, body: string): void;
  /** The start of an answer whose body follows: that many bytes, or null where only its end will tell. */
  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void;
  /**
   * One piece of the body. False: the sink has enough until it calls `resume` on the call.
   *
   * Where `taken` is given, the bytes are lent: they stay as they are until it is called, and may change then.
   */
  data(chunk: Buffer, taken: Taken | null): boolean;
  end(trailers: Fields): void;
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
  send(request: UpstreamRequest, sink: AnswerSink): TransportCall;
  /** Connections open now. */
  readonly connections: number;
  /**
   * Closes idle connections at once, busy ones after their answer. Resolves when all are gone. A request that comes later all the
   * same, of an exchange that began before a reload, is carried on a connection of its own.
   */
  close(): Promise<void>;
}
