import type { Client, Dispatcher } from 'undici';
import { type Fields, firstValue } from '../../../src/core/index.ts';
import type { CallSink, TransportCall, UpstreamFailure } from '../../../src/upstream/transport.ts';
import type { OutgoingRequest } from '../../../src/wire/http1/index.ts';
import { BodyStream } from './body-stream.ts';

/** Answers up to this many bytes are handed on whole when they came in one piece. */
const WHOLE_MAX_BYTES = 16_384;
/** Interim responses before the final one; a server that sends more is not going to come to the point. */
const MAX_INTERIM = 16;
const TOO_MANY_INTERIM = 'too many interim responses';
/** A status or reason that no response to this request can have, though undici lets it pass: 099, a bare 101. */
const BAD_STATUS_LINE = 'the status line is none that a response here can have';
/** undici would read such a body up to the end of the connection and leave it coded (RFC 9112, 6.3). */
const BAD_CODING = 'the only transfer coding accepted is chunked';
const BAD_LENGTH = 'Content-Length is not a plain number';
const MALFORMED: ReadonlySet<string> = new Set([TOO_MANY_INTERIM, BAD_STATUS_LINE, BAD_CODING, BAD_LENGTH]);
const NO_FIELDS: Fields = [];

/** What has come of the response so far. */
type Phase =
  /** Nothing but interim responses. */
  | 'waiting'
  /** The head, held back for a moment: a small response mostly comes in the same packet and can leave in one write. */
  | 'head-held'
  /** The sink has the head. */
  | 'streaming'
  | 'over';

/** One exchange on undici's dispatch: its handler events become calls on an `CallSink`. */
export class UndiciCall implements TransportCall, Dispatcher.DispatchHandler {
  readonly #request: OutgoingRequest;
  readonly #sink: CallSink;
  readonly #onReused: boolean;
  readonly #over: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #aborted = false;
  #phase: Phase = 'waiting';
  #status = 0;
  #reason = '';
  #fields: string[] = [];
  #bodyLength: number | null = null;
  #heldBody = '';
  #interim = 0;
  #responseBegun = false;

  constructor(request: OutgoingRequest, sink: CallSink, onReused: boolean, over: () => void) {
    this.#request = request;
    this.#sink = sink;
    this.#onReused = onReused;
    this.#over = over;
  }

  dispatchOn(client: Client): void {
    const request = this.#request;
    const length = request.bodyLength;
    client.dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: request.target,
        headers:
          length === 0 || length === 'chunked'
            ? (request.fields as string[])
            : [...request.fields, 'Content-Length', String(length)],
        body: request.body === null ? null : new BodyStream(request.body),
        headersTimeout: request.firstByteTimeoutMs,
        bodyTimeout: request.idleTimeoutMs,
        // undici closes after each HEAD, in case the server sends a body; its parser would see such bytes on the idle
        // connection and destroy it all the same.
        reset: false,
      },
      this,
    );
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort(new Error('the exchange was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(new Error('the exchange was given up'));
  }

  /** The first byte of a response, interim or final. */
  onResponseStarted(): void {
    this.#responseBegun = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    reason?: string,
  ): void {
    // Thrown, so that undici destroys the connection.
    if (status < 102 || /[\x00-\x08\x0a-\x1f\x7f]/.test(reason ?? '')) throw new Error(BAD_STATUS_LINE);
    const fields = latin1Fields(controller.rawHeaders as Buffer[]);
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM) throw new Error(TOO_MANY_INTERIM);
      this.#sink.info(status, fields);
      return;
    }
    this.#status = status;
    this.#reason = latin1Reason(reason ?? '');
    this.#fields = fields;
    this.#bodyLength = responseLength(this.#request.method, status, fields);
    this.#phase = 'head-held';
    // What came in the same packet is parsed before any microtask runs: either the response is whole by then, or its
    // head must not wait for a body that may come much later.
    if (this.#bodyLength !== 0) queueMicrotask(() => this.#release());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const whole = this.#bodyLength === null || this.#bodyLength === chunk.length;
    if (this.#phase === 'head-held' && this.#heldBody === '' && whole && chunk.length <= WHOLE_MAX_BYTES) {
      this.#heldBody = chunk.toString('latin1');
      return;
    }
    if (this.#phase === 'head-held') this.#release();
    if (this.#phase === 'streaming' && !this.#sink.data(chunk, null)) controller.pause();
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    const trailers = controller.rawTrailers as Buffer[] | null | undefined;
    const hasTrailers = trailers !== null && trailers !== undefined && trailers.length > 0;
    if (this.#phase === 'head-held' && hasTrailers) this.#release();
    const whole = this.#phase === 'head-held';
    this.#finish();
    if (whole) this.#whole();
    else this.#sink.end(hasTrailers ? latin1Fields(trailers) : NO_FIELDS);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    const started = this.#phase === 'head-held' || this.#phase === 'streaming';
    if (this.#phase === 'head-held') this.#release();
    this.#finish();
    if (this.#aborted) return;
    this.#sink.fail({
      kind: this.#controller === null ? 'connect' : failureKind(error, started),
      onReusedConnection: this.#onReused,
      responseBegun: this.#responseBegun,
      resetCode: null,
      cause: error,
    });
  }

  #whole(): void {
    // A response without a stated length gets one, now that it is known; a HEAD or 304 keeps what it said of the body.
    if (this.#bodyLength === null) this.#fields.push('Content-Length', String(this.#heldBody.length));
    this.#sink.whole(this.#status, this.#reason, this.#fields, this.#heldBody);
  }

  /** Gives the sink what was held back. */
  #release(): void {
    if (this.#phase !== 'head-held' || this.#aborted) return;
    this.#phase = 'streaming';
    this.#sink.head(this.#status, this.#reason, this.#fields, this.#bodyLength);
    // The sink gives the exchange up when it cannot write the head.
    if (this.#aborted || this.#heldBody === '') return;
    if (!this.#sink.data(Buffer.from(this.#heldBody, 'latin1'), null)) this.#controller?.pause();
  }

  #finish(): void {
    this.#phase = 'over';
    this.#over();
  }
}

/** Pairs of latin-1 strings without `Transfer-Encoding`, which undici has undone. Throws for a coding it has not. */
function latin1Fields(raw: readonly Buffer[]): string[] {
  const fields: string[] = [];
  let coded = false;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as Buffer).toString('latin1');
    const value = (raw[i + 1] as Buffer).toString('latin1');
    if (name.length !== 17 || name.toLowerCase() !== 'transfer-encoding') fields.push(name, value);
    else if (coded || value.toLowerCase() !== 'chunked') throw new Error(BAD_CODING);
    else coded = true;
  }
  return fields;
}

/** The reason phrase with a character for each byte; undici has read it as UTF-8. */
function latin1Reason(reason: string): string {
  return /^[\t\x20-\x7e]*$/.test(reason) ? reason : Buffer.from(reason).toString('latin1');
}

/** Bytes of body that follow; null if only its end shows it. RFC 9112, 6.3. Throws for `010`, which some read as 8. */
function responseLength(method: string, status: number, fields: Fields): number | null {
  const length = firstValue(fields, 'content-length');
  if (length !== undefined && !/^(?:0|[1-9]\d{0,14})$/.test(length)) throw new Error(BAD_LENGTH);
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  return length === undefined ? null : Number(length);
}

/** undici's error codes: https://github.com/nodejs/undici/blob/main/docs/docs/api/Errors.md */
function failureKind(error: Error & { code?: string }, started: boolean): UpstreamFailure['kind'] {
  if (started) return 'truncated';
  if (error.code === 'UND_ERR_HEADERS_TIMEOUT') return 'timeout';
  if (MALFORMED.has(error.message)) return 'malformed';
  if (error.name === 'HTTPParserError' || error.code === 'UND_ERR_HEADERS_OVERFLOW') return 'malformed';
  if (error.code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) return 'malformed';
  return 'reset';
}
