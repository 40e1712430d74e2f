import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { StallTimer } from '../../core/index.ts';
import { MalformedMessage, type OutgoingRequest } from '../../http1/index.ts';
import type { CallSink, TransportCall, UpstreamFailure } from '../transport.ts';
import { BodyWriter, type BodyWriterOwner } from './body-writer.ts';
import { onEndStream } from './end-stream.ts';
import { type ResponseHead, readResponseHead } from './response-head.ts';
import { type SessionFate, streamFailure } from './stream-failure.ts';

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM } = constants;

/** Interim responses before the final one; a server that sends more is at fault. */
const MAX_INTERIM = 16;

/** What carries a call: the queue that it waits in, then its session. */
export interface CallHolder {
  /** The call is over, and its stream, if any, is closed. */
  released(call: StreamCall): void;
}

/** The session of a call. */
export interface CallSession extends CallHolder, SessionFate {
  /** A request got no response in time. */
  suspect(): void;
}

/** What a call is doing. */
type Phase =
  /** It waits for a stream. */
  | 'queued'
  /** The request is going out or has gone; the head of the response has not come. */
  | 'waiting'
  /** The body of the response is coming in. */
  | 'answering'
  | 'over';

/** A request and its response on a stream of HTTP/2. */
export class StreamCall implements TransportCall, BodyWriterOwner {
  readonly request: OutgoingRequest;
  readonly #sink: CallSink;
  readonly #maxHeadBytes: number;
  #holder: CallHolder;
  #phase: Phase = 'queued';
  #stream: ClientHttp2Stream | null = null;
  #writer: BodyWriter | null = null;
  #breaking: AbortController | null = null;
  #requestSent = false;
  /** A response without a body whose stream has not ended yet. */
  #bodiless: ResponseHead | null = null;
  #ended = false;
  #responseBegun = false;
  #statedLength: number | null = null;
  #received = 0;
  #trailers: readonly string[] = [];
  #interim = 0;
  /** The sink has enough for now. */
  #paused = false;
  #error: Error | null = null;
  readonly #stall = new StallTimer();
  /** Bytes that had left, and interim responses that had come, at the last sweep. */
  #progress = 0;

  constructor(request: OutgoingRequest, sink: CallSink, queue: CallHolder, maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
    this.request = request;
    this.#sink = sink;
    this.#holder = queue;
  }

  /** Takes the stream on which the request has been opened; `breaking` resets the stream of one with a body. */
  begin(stream: ClientHttp2Stream, session: CallSession, breaking: AbortController | null): void {
    this.#breaking = breaking;
    const { body, bodyLength } = this.request;
    this.#holder = session;
    this.#stream = stream;
    this.#phase = 'waiting';
    this.#stall.begin();
    onEndStream(stream, () => {
      this.#ended = true;
    });
    stream.on('headers', (_headers: IncomingHttpHeaders, _flags: number, section: string[]) =>
      this.#onInterim(section),
    );
    stream.on('response', (_headers: IncomingHttpHeaders, flags: number, section: string[]) =>
      this.#onResponse(section, (flags & NGHTTP2_FLAG_END_STREAM) !== 0),
    );
    stream.on('trailers', (_headers: IncomingHttpHeaders, _flags: number, section: string[]) => {
      this.#trailers = section;
    });
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => this.#onEnd());
    stream.on('error', error => {
      this.#error = error;
    });
    stream.on('close', () => this.#onClose(stream, session));
    if (body === null) {
      this.requestSent();
      return;
    }
    this.#writer = new BodyWriter(stream, body, bodyLength, this);
    this.#writer.start();
  }

  resume(): void {
    if (!this.#paused || this.#phase === 'over') return;
    this.#paused = false;
    // Nothing was read meanwhile, so the upstream's time starts again.
    this.#stall.begin();
    this.#stream?.resume();
  }

  abort(): void {
    this.#finish();
  }

  /** Checks whether something has taken too long. */
  sweep(nowMs: number, maxQueuedMs: number, session: CallSession | null): void {
    const waitedMs = this.#stall.waitedMs(nowMs, this.#phase === 'waiting' && !this.#waitsForUpstream());
    const { firstByteTimeoutMs, idleTimeoutMs } = this.request;
    const within = (limitMs: number | null) => limitMs === null || waitedMs <= limitMs;
    if (this.#phase === 'queued') {
      if (waitedMs > maxQueuedMs) this.fail('connect', new Error('no stream was free in time'));
    } else if (this.#phase === 'waiting') {
      if (within(firstByteTimeoutMs)) return;
      session?.suspect();
      this.fail('timeout', new Error('no response came in time'));
    } else if (!this.#paused && !within(idleTimeoutMs)) {
      session?.suspect();
      this.fail('truncated', new Error('the response stood still for too long'));
    }
  }

  requestSent(): void {
    this.#requestSent = true;
    this.#stall.begin();
  }

  requestBroken(): void {
    this.fail(this.#phase === 'answering' ? 'truncated' : 'reset', new Error('the body broke off'));
  }

  fail(kind: UpstreamFailure['kind'], cause: unknown, onReusedConnection = false): void {
    if (this.#phase === 'over') return;
    this.#finish();
    this.#sink.fail({ kind, onReusedConnection, responseBegun: this.#responseBegun, cause });
  }

  /** Whether the upstream's time is running: it sends nothing, and has the whole request or does not take the rest. */
  #waitsForUpstream(): boolean {
    const progress = (this.#writer?.bytesTaken ?? 0) + this.#interim;
    const moved = progress !== this.#progress;
    this.#progress = progress;
    return !moved && (this.#requestSent || this.#stream?.writableNeedDrain === true);
  }

  #onInterim(section: string[]): void {
    if (this.#phase !== 'waiting') return;
    this.#responseBegun = true;
    const head = this.#read(section);
    if (head === null) return;
    if (++this.#interim > MAX_INTERIM || head.status === 101 || head.status >= 200) {
      this.fail('malformed', new MalformedMessage('interim responses that cannot be'));
      return;
    }
    // A 100 asks for a body that is already on its way, or comes when the client sends it.
    if (head.status !== 100) this.#sink.info(head.status, head.fields);
  }

  #onResponse(section: string[], isWhole: boolean): void {
    if (this.#phase !== 'waiting') return;
    this.#responseBegun = true;
    const head = this.#read(section);
    if (head === null) return;
    if (head.status < 200)
      this.fail('malformed', new MalformedMessage('an interim response that ends its stream'));
    else if (isWhole) this.#whole(head);
    else if (this.#hasNoBody(head.status)) this.#bodiless = head;
    else {
      this.#phase = 'answering';
      this.#stall.begin();
      this.#statedLength = head.statedLength;
      this.#sink.head(head.status, head.reason, head.fields, head.statedLength);
    }
  }

  #read(section: string[]): ResponseHead | null {
    try {
      return readResponseHead(section, this.#maxHeadBytes);
    } catch (error) {
      this.fail('malformed', error);
      return null;
    }
  }

  /** RFC 9110, 6.4.1. */
  #hasNoBody(status: number): boolean {
    return this.request.method === 'HEAD' || status === 204 || status === 304;
  }

  #whole({ status, reason, fields, statedLength }: ResponseHead): void {
    // HTTP/1.1 has to announce a body that is known to be empty.
    if (statedLength === null && !this.#hasNoBody(status)) fields.push('content-length', '0');
    this.#finish();
    this.#sink.whole(status, reason, fields, '');
  }

  #onData(chunk: Buffer): void {
    if (this.#phase !== 'answering') {
      this.fail('malformed', new MalformedMessage('a body that cannot be'));
      return;
    }
    this.#stall.begin();
    this.#received += chunk.length;
    if (this.#statedLength !== null && this.#received > this.#statedLength) {
      this.fail('truncated', new MalformedMessage('more than content-length says'));
      return;
    }
    this.#paused = !this.#sink.data(chunk, null);
    if (this.#paused) this.#stream?.pause();
  }

  #onEnd(): void {
    // Broken off: `close` follows.
    if (!this.#ended) return;
    if (this.#bodiless !== null && this.#phase === 'waiting') {
      this.#whole(this.#bodiless);
      return;
    }
    if (this.#phase !== 'answering') return;
    if (this.#statedLength !== null && this.#received !== this.#statedLength) {
      this.fail('truncated', new MalformedMessage('less than content-length says'));
      return;
    }
    this.#finish();
    this.#sink.end(this.#trailers);
  }

  #onClose(stream: ClientHttp2Stream, session: CallSession): void {
    session.released(this);
    if (this.#phase === 'over') return;
    const { kind, cause, onReusedConnection } = streamFailure(stream, session, this.#error);
    if (this.#phase === 'answering') this.fail('truncated', cause);
    else this.fail(this.#responseBegun && kind === 'refused' ? 'reset' : kind, cause, onReusedConnection);
  }

  /** Ends the call. The sink hears nothing more of it, except from the caller of this method. */
  #finish(): void {
    if (this.#phase === 'over') return;
    const wasQueued = this.#phase === 'queued';
    this.#phase = 'over';
    this.#writer?.stop();
    if (wasQueued) this.#holder.released(this);
    else this.#letGo();
  }

  /** Cancels what is left of the stream. */
  #letGo(): void {
    const stream = this.#stream;
    if (stream === null) return;
    if (!this.#requestSent) {
      // Closing the stream would end the request first, by END_STREAM: what came of it would look complete.
      this.#breaking?.abort();
    } else if (this.#ended && stream.readableLength === 0) {
      // Ends by itself, and is read to its end.
      stream.resume();
    } else if (stream.closed) stream.destroy();
    else stream.close(NGHTTP2_CANCEL);
  }
}
