import { inNextTurn, type Release, STATUS_CODES } from '../core/index.ts';
import { InterimCount, MalformedMessage } from '../wire/http1/index.ts';
import { ErrorCode, errorName, type HeaderSection, Http2Fault, type StreamEnd } from '../wire/http2/index.ts';
import type { CallSink, UpstreamFailure } from './transport.ts';

/** A response with a body up to this size is passed on as a whole if it arrives within one turn of the event loop. */
const WHOLE_MAX_BYTES = 16_384;

/**
 * Where in a response the next event belongs.
 *
 * - `head` to `over`: the head of the final response ends its stream
 * - `head` to `bodiless`: no body can follow (HEAD, 204, 304), and the stream has yet to end
 * - `head` to `empty`: Content-Length is 0, and the stream has yet to end
 * - `head` to `gathering`: a body follows
 * - `gathering` to `body`: the turn of the event loop is over; at once for a body that is large or of unknown length
 * - `empty` or `gathering` to `body`: trailers have come; from `gathering` also when the response breaks off
 * - any to `over`: the stream has ended, or `stop`
 */
type StreamResponsePhase =
  /** The head of the final response has not arrived. */
  | 'head'
  /** The head of a response without a body has arrived, but not the end of its stream. */
  | 'bodiless'
  /** The head of a response declared as empty has arrived. The sink does not have it yet. */
  | 'empty'
  /** A small body is arriving. The sink does not have the head yet. */
  | 'gathering'
  /** The body is arriving, and the sink has the head. */
  | 'body'
  /** The sink has the complete response. */
  | 'over';

/** Passes what arrives on a stream to the sink of its request. Throws MalformedMessage if it is not a response. */
export class StreamResponse {
  /** True once a part of the response has arrived. */
  begun = false;
  readonly interim = new InterimCount();
  #trailers: readonly string[] = [];
  readonly #method: string;
  readonly #sink: CallSink;
  readonly #isCall: boolean;
  #phase: StreamResponsePhase = 'head';
  #head: Http2ResponseHead | null = null;
  /** Pieces of a body being collected. */
  #pieces: Piece[] = [];
  #received = 0;

  /** @param isCall true if it answers a gRPC call, which only goes to HTTP/2 clients */
  constructor(method: string, sink: CallSink, isCall: boolean) {
    this.#method = method;
    this.#sink = sink;
    this.#isCall = isCall;
  }

  /** True if the head of the final response has arrived and a body follows. */
  get inBody(): boolean {
    return this.#phase === 'body' || this.#phase === 'gathering';
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /** Reads a header section: of an interim response, of the final one, or trailers. `ends` is true if it ends the stream. */
  readSection({ fields, flaw, neverIndexed }: HeaderSection, ends: boolean): void {
    this.begun = true;
    if (flaw !== null) throw new MalformedMessage(flaw);
    if (neverIndexed.size > 0) this.#sink.neverIndex(neverIndexed);
    if (this.#head !== null) this.#readTrailers(fields, ends);
    else {
      const head = readHttp2ResponseHead(fields);
      if (head.status >= 200) this.#readHead(head, ends);
      else if (ends) throw new MalformedMessage('an interim response that ends its stream');
      else this.#readInterim(head);
    }
  }

  #readInterim({ status, fields, statedLength }: Http2ResponseHead): void {
    this.interim.add();
    // RFC 9113, 8.6, and RFC 9110, 8.6.
    if (status === 101 || statedLength !== null) throw new MalformedMessage('an invalid interim response');
    if (status === 100) this.#sink.continues?.();
    else this.#sink.info(status, fields);
  }

  #readTrailers(fields: readonly string[], ends: boolean): void {
    if (!ends) throw new MalformedMessage('trailers that do not end the response');
    // RFC 9113, 8.1. A length in trailers is useless (RFC 9110, 6.5.1).
    for (let i = 0; i < fields.length; i += 2)
      if (fields[i] === ':status' || fields[i] === 'content-length')
        throw new MalformedMessage('invalid trailers');
    this.#trailers = fields;
  }

  #readHead(head: Http2ResponseHead, isWhole: boolean): void {
    if (isWhole && (head.statedLength ?? 0) > 0 && !this.#hasNoBody(head))
      throw new MalformedMessage('less than content-length says');
    this.#head = head;
    if (isWhole) this.#whole(head, '');
    else if (this.#hasNoBody(head)) this.#phase = 'bodiless';
    // Hold it until its stream ends: if the head were sent and a body followed, an HTTP/1.1 client's connection would have to be
    // aborted.
    else if (head.statedLength === 0) this.#phase = 'empty';
    else if (head.statedLength !== null && head.statedLength <= WHOLE_MAX_BYTES) {
      this.#phase = 'gathering';
      inNextTurn(() => this.handOn());
    } else {
      this.#phase = 'gathering';
      this.handOn();
    }
  }

  /** Reads a piece of the body, which is returned with `release` unless the response fails. Returns false to pause. */
  readData(chunk: Buffer, release: Release | null): boolean {
    if (!this.inBody) throw new MalformedMessage('an invalid body');
    this.#received += chunk.length;
    const excess = this.#received - (this.#head?.statedLength ?? this.#received);
    if (excess <= 0) return this.#pass(chunk, release);
    // Pass on the part that belongs to the body, although more came with it.
    if (excess < chunk.length) this.#pass(chunk.subarray(0, -excess), release);
    throw new MalformedMessage('more than content-length says');
  }

  #pass(chunk: Buffer, release: Release | null): boolean {
    if (this.#phase === 'body') return this.#sink.data(chunk, release);
    this.#pieces.push({ chunk, release });
    return true;
  }

  /** Reads the end of the stream (END_STREAM). */
  readEnd(): void {
    if (this.#phase === 'over') return;
    const head = this.#head;
    // Empty DATA can end the stream there (RFC 9113, 8.1).
    if (head === null) throw new MalformedMessage('an end without a final response');
    if (this.inBody && head.statedLength !== null && this.#received !== head.statedLength)
      throw new MalformedMessage('less than content-length says');
    if (this.#trailers.length > 0) this.handOn();
    // The sink may have given up at the head.
    if (this.over) return;
    if (this.#phase === 'body') {
      this.#phase = 'over';
      this.#sink.end(this.#trailers);
    } else this.#whole(head, this.#gathered());
  }

  /** Passes on what was collected so far. */
  handOn(): void {
    if ((this.#phase !== 'gathering' && this.#phase !== 'empty') || this.#head === null) return;
    const { status, reason, fields, statedLength } = this.#head;
    const pieces = this.#pieces;
    this.#phase = 'body';
    this.#pieces = [];
    this.#sink.head(status, reason, fields, statedLength);
    // Ignore whether the sink pauses: these are few bytes.
    for (const { chunk, release } of pieces) if (this.inBody) this.#sink.data(chunk, release);
  }

  /** Stops reading: the sink needs no more of the response. */
  stop(): void {
    this.#phase = 'over';
  }

  #whole({ status, reason, fields, statedLength }: Http2ResponseHead, body: string): void {
    // HTTP/1.1 must be told that the body is empty.
    if (!this.#isCall && statedLength === null && this.#head !== null && !this.#hasNoBody(this.#head))
      fields.push('content-length', '0');
    this.#phase = 'over';
    this.#sink.whole(status, reason, fields, body);
  }

  #gathered(): string {
    let body = '';
    for (const { chunk, release } of this.#pieces) {
      body += chunk.toString('latin1');
      release?.();
    }
    return body;
  }

  #hasNoBody({ status }: Http2ResponseHead): boolean {
    return this.#method === 'HEAD' || status === 204 || status === 304;
  }
}

/** A piece of a body, and the callback that returns it. */
interface Piece {
  readonly chunk: Buffer;
  readonly release: Release | null;
}

/** The head of a response as received over HTTP/2. */
interface Http2ResponseHead {
  readonly status: number;
  /** The standard reason phrase of the status, since HTTP/2 has none (RFC 9113, 8.3.2). */
  readonly reason: string;
  /** The header fields without pseudo-fields, names in lower case. */
  readonly fields: string[];
  /** The value of `content-length`; `null` if absent. */
  readonly statedLength: number | null;
}

/** Reads a header section of well-formed fields: names and values in turn, `:status` first. Throws MalformedMessage. */
function readHttp2ResponseHead(section: readonly string[]): Http2ResponseHead {
  const status = section[0] === ':status' ? readStatus(section[1] ?? '') : 0;
  if (status === 0) throw new MalformedMessage('a response without a status');
  const fields = section.slice(2);
  const statedLength = lengthIn(fields);
  // RFC 9110, 8.6: a 204 has no length, but some servers send 0.
  if (status === 204 && statedLength !== null) {
    if (statedLength > 0) throw new MalformedMessage('a length where there is no body');
    const others = fields.filter((_, i) => fields[i - (i % 2)] !== 'content-length');
    return { status, reason: STATUS_CODES[status] ?? '', fields: others, statedLength: null };
  }
  return { status, reason: STATUS_CODES[status] ?? '', fields, statedLength };
}

/** RFC 9110, 15: three digits, of which the first names the class. */
function readStatus(text: string): number {
  return /^[1-9]\d\d$/.test(text) ? Number(text) : 0;
}

/** Reads the length as strictly as over HTTP/1.1, since an HTTP/1.1 client will parse the digits again. */
function lengthIn(fields: readonly string[]): number | null {
  let length: number | null = null;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i] !== 'content-length') continue;
    if (length !== null) throw new MalformedMessage('content-length came twice');
    const text = fields[i + 1] as string;
    if (!/^(?:0|[1-9]\d{0,14})$/.test(text))
      throw new MalformedMessage('content-length is not a plain number');
    length = Number(text);
  }
  return length;
}

/** The state of the connection of a closed stream. */
export interface SessionFate {
  /** Why the connection is lost; `null` while it is not. */
  readonly broken: Error | null;
  /** True if it had carried other requests and the upstream closed it without GOAWAY, perhaps as idle. */
  readonly closedWhileIdle: boolean;
}

/** The error codes by which a server reports a protocol violation of the gateway (RFC 9113, 7). */
const OFFENCES: ReadonlySet<number> = new Set([
  ErrorCode.PROTOCOL_ERROR,
  ErrorCode.FLOW_CONTROL_ERROR,
  ErrorCode.FRAME_SIZE_ERROR,
  ErrorCode.COMPRESSION_ERROR,
  ErrorCode.ENHANCE_YOUR_CALM,
  ErrorCode.HTTP_1_1_REQUIRED,
]);

/** Makes the error for a GOAWAY, for the log. */
export function goawayError(code: number): Error {
  return new Error(`the upstream closes the connection with ${errorName(code)}`);
}

/** Returns why a stream that closed before its response was complete has failed. */
export function streamFailure(end: StreamEnd, session: SessionFate): Omit<UpstreamFailure, 'responseBegun'> {
  const base = { onReusedConnection: false, resetCode: null };
  if (end.how === 'malformed') return { ...base, kind: 'malformed', cause: new Error(end.why) };
  if (end.how === 'unprocessed') return { ...base, kind: 'refused', cause: goawayError(end.code) };
  if (end.how === 'reset') {
    const cause = new Error(`the upstream closed the stream with ${errorName(end.code)}`);
    if (end.code === ErrorCode.REFUSED_STREAM) return { ...base, kind: 'refused', cause };
    return { ...base, kind: OFFENCES.has(end.code) ? 'malformed' : 'reset', cause, resetCode: end.code };
  }
  const cause = session.broken;
  if (cause instanceof OwnFault) return { ...base, kind: 'fault', cause: cause.cause };
  if (cause instanceof Http2Fault) return { ...base, kind: 'malformed', cause };
  return { ...base, kind: 'reset', cause, onReusedConnection: session.closedWhileIdle };
}

/** A failure inside the gateway while reading from an upstream. The upstream is not to blame. */
export class OwnFault extends Error {
  override readonly name = 'OwnFault';

  /** @param cause what was thrown */
  constructor(cause: unknown) {
    super('the gateway failed to read what the upstream sent', { cause });
  }
}
