import type { Fields, LendingBytes, Release } from '../../core/index.ts';
import { ChunkedBody } from './chunked-body.ts';
import { LenientPartialHead, readLenientHead } from './lenient-response.ts';
import type { BodyDecoder, PieceTaker } from './message.ts';
import { JoinedPieces, LengthBody, MalformedMessage, sectionEnd, UntilCloseBody } from './message.ts';
import type { ResponseFraming, ResponseHead } from './response-head.ts';
import {
  checkInterim,
  LastResponse,
  readResponseHead,
  responseFraming,
  UnfinishedHead,
} from './response-head.ts';

/** A response up to this size, including its head, is passed on as a whole if it arrives in one read. */
const WHOLE_MAX_BYTES = 16_384;
/** Smaller pieces of a body are copied: lending them would keep a whole slab from being reused. */
const LEND_MIN_BYTES = 2_048;

/**
 * The part of a response that the next byte belongs to.
 *
 * - `over` to `head`: a request is sent (`begin`)
 * - `head` to `body`: the head of the final response is complete; without a body, `over` follows at once
 * - `head` to `over`: a 101 answers a request to switch protocols
 * - `body` to `over`: the body has ended, for some by the end of the connection
 * - any to `over`: `giveUp`
 */
type ResponsePhase =
  /** The head of an interim or the final response. */
  | 'head'
  | 'body'
  /** None: the response is complete, or was given up. */
  | 'over';

/** Reads the responses of one connection, one after the other, and passes each to its sink. Independent of sockets. */
export class ResponseReader {
  readonly #maxHeadBytes: number;
  #phase: ResponsePhase = 'over';
  #method = '';
  #sink: ResponseSink | null = null;
  readonly #unfinishedHead: UnfinishedHead;
  readonly #lenient: boolean;
  #body: BodyDecoder | null = null;
  /** The part of the body in the bytes just read. */
  readonly #found = new JoinedPieces();
  /** The bytes of a response that may still be passed on as a whole, as a string; `#gathered` is the body found so far. */
  #text: string | null = null;
  #gathered = '';
  /** The slab being read; `null` for bytes of our own, which are not overwritten. */
  #slab: LendingBytes | null = null;
  #wantsMore = true;
  /** True if the request asks to switch protocols. */
  #maySwitch = false;
  readonly #last = new LastResponse();

  /** @param lenient whether to accept what old servers send against RFC 9112 (lenient-response.ts) */
  constructor(maxHeadBytes: number, lenient = false) {
    this.#maxHeadBytes = maxHeadBytes;
    this.#lenient = lenient;
    this.#unfinishedHead = new UnfinishedHead(lenient ? new LenientPartialHead() : undefined);
  }

  /** What the last response, or the one in progress, means for the connection. */
  get last(): Readonly<LastResponse> {
    return this.#last;
  }

  /** True if the sink has the head of the final response. */
  get inBody(): boolean {
    return this.#phase === 'body' && this.#text === null;
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /**
   * Prepares for the response to a request with this method.
   *
   * @param maySwitch whether it requests another protocol
   */
  begin(method: string, sink: ResponseSink, maySwitch = false): void {
    this.#phase = 'head';
    this.#method = method;
    this.#sink = sink;
    this.#unfinishedHead.forget();
    this.#last.begin();
    this.#maySwitch = maySwitch;
  }

  /** Stops reading: the sink needs no more of the response. */
  giveUp(): void {
    this.#phase = 'over';
    this.#sink = null;
    this.#body = null;
  }

  /**
   * Reads the first `end` bytes of the slab. Returns false to pause. Throws MalformedMessage, which the caller reports to the
   * sink.
   */
  read(slab: LendingBytes, end: number): boolean {
    this.#last.begun = true;
    this.#wantsMore = true;
    this.#slab = slab;
    if (this.#phase === 'body') this.#readBody(slab.bytes, 0, end);
    else this.#readHeads(slab.bytes, end);
    return this.#wantsMore;
  }

  /** Reads the end of the connection. Returns true if that completed the response. */
  ended(): boolean {
    if (!(this.#body instanceof UntilCloseBody) || this.#sink === null) return false;
    const sink = this.#sink;
    this.giveUp();
    sink.end([]);
    return true;
  }

  /** Reads interim responses, if any, and the head of the final one. */
  #readHeads(bytes: Buffer, end: number): void {
    if (!this.#unfinishedHead.isEmpty) {
      const joined = this.#unfinishedHead.add(bytes.subarray(0, end), this.#maxHeadBytes);
      if (joined === null) return;
      bytes = joined;
      end = joined.length;
      this.#slab = null;
    }
    while (this.#phase === 'head') {
      const headEnd = Math.min(end, this.#maxHeadBytes);
      // Larger responses are not passed on as a whole, so only their heads are needed as strings.
      const text = bytes.toString('latin1', 0, end <= WHOLE_MAX_BYTES ? end : sectionEnd(bytes, 0, headEnd));
      const head = this.#lenient ? readLenientHead(bytes, headEnd) : readResponseHead(bytes, headEnd, text);
      if (head === null) {
        if (end >= this.#maxHeadBytes) throw new MalformedMessage('a head that is too large (max_head)');
        this.#unfinishedHead.keep(bytes.subarray(0, end), this.#slab !== null);
        return;
      }
      if (head.status >= 200) {
        this.#begin(head, bytes, end, text);
        return;
      }
      if (head.status === 101 && this.#maySwitch && head.httpMinor === 1) {
        this.giveUp();
        this.#last.switched = { fields: head.fields, behind: Buffer.from(bytes.subarray(head.bytes, end)) };
        return;
      }
      this.#passInterim(head);
      bytes = bytes.subarray(head.bytes, end);
      end = bytes.length;
      // From here on, positions no longer refer to the slab.
      this.#slab = null;
      if (end > 0) bytes = Buffer.from(bytes);
    }
  }

  #passInterim(head: ResponseHead): void {
    this.#last.interim.add();
    checkInterim(head);
    this.#unfinishedHead.forget();
    const { close, fields } = responseFraming(this.#method, head);
    if (close) this.#last.close = true;
    if (head.status === 100) this.#sink?.continues?.();
    else this.#sink?.info(head.status, fields);
  }

  /** Passes on the final response: as a whole if its body is there as well. */
  #begin(head: ResponseHead, bytes: Buffer, end: number, text: string): void {
    const { length, close, keepAliveMs, fields } = responseFraming(this.#method, head);
    this.#unfinishedHead.forget();
    if (close) this.#last.close = true;
    this.#last.keepAliveMs = keepAliveMs;
    this.#last.status = head.status;
    this.#last.bodiless = true;
    const body = responseBody(length, this.#takePiece, this.#lenient);
    this.#body = body;
    this.#phase = 'body';
    const bodyLength = typeof length === 'number' ? length : null;
    if (end > WHOLE_MAX_BYTES) {
      this.#sink?.head(head.status, head.reason, fields, bodyLength);
      this.#readBody(bytes, head.bytes, end);
      return;
    }
    this.#text = text;
    this.#gathered = '';
    const at = body.decode(bytes, head.bytes, end);
    this.#text = null;
    if (body.done && body.trailers.length === 0) {
      // A response without a stated length gets one, now that it is known.
      if (length === 'chunked') fields.push('Content-Length', String(this.#gathered.length));
      this.#finish(at, end)?.whole(head.status, head.reason, fields, this.#gathered);
      return;
    }
    this.#sink?.head(head.status, head.reason, fields, bodyLength);
    if (this.#gathered !== '') this.#give(Buffer.from(this.#gathered, 'latin1'), null);
    this.#endIfDone(at, end);
  }

  #readBody(bytes: Buffer, at: number, end: number): void {
    if (this.#body === null) return;
    this.#found.reset();
    let bodyEnd = end;
    try {
      bodyEnd = this.#body.decode(bytes, at, end);
    } finally {
      // Pass on the bytes before an error as well.
      if (!this.#found.isEmpty) this.#handOn(bytes, this.#found);
    }
    this.#endIfDone(bodyEnd, end);
  }

  #endIfDone(at: number, end: number): void {
    if (this.#body?.done !== true) return;
    const { trailers } = this.#body;
    this.#finish(at, end)?.end(trailers);
  }

  /** Ends the response. Bytes after it belong to no request (RFC 9112, 9.2). */
  #finish(at: number, end: number): ResponseSink | null {
    const sink = this.#sink;
    if (at < end) this.#last.close = true;
    this.giveUp();
    this.#wantsMore = true;
    return sink;
  }

  readonly #takePiece: PieceTaker = (bytes, from, to) => {
    this.#last.bodiless = false;
    if (this.#text !== null) this.#gathered += this.#text.slice(from, to);
    else this.#found.add(bytes, from, to);
  };

  #handOn(bytes: Buffer, { from, to }: JoinedPieces): void {
    if (this.#slab === null) this.#give(bytes.subarray(from, to), null);
    else if (to - from < LEND_MIN_BYTES) this.#give(Buffer.from(bytes.subarray(from, to)), null);
    else this.#give(this.#slab.lend(from, to), this.#slab.release);
  }

  #give(piece: Buffer, release: Release | null): void {
    if (this.#sink?.data(piece, release) === false) this.#wantsMore = false;
  }
}

/**
 * Receives an upstream's response: any number of `info`, then either `whole`, or `head`, `data`... and `end`. `fail` may replace
 * any of them and is the last call, as are `whole` and `end`.
 *
 * The fields are as the upstream sent them, including hop-by-hop fields, but without `Transfer-Encoding`.
 */
export interface ResponseSink {
  /** Takes an interim response, with a status of 102 to 199. */
  info(status: number, fields: Fields): void;
  /** Called for a 100. Absent if the body that it requests is on its way, or follows as soon as the client sends it. */
  continues?(): void;
  /** Takes a small response that arrived in one read; every character of the body is one byte. */
  whole(status: number, reason: string, fields: Fields, body: string): void;
  /** Takes the start of a response with a body; `bodyLength` is `null` if unknown until its end. */
  head(status: number, reason: string, fields: Fields, bodyLength: number | null): void;
  /**
   * Takes one piece of the body. Returns false to pause until it calls `resume` on the call.
   *
   * With `release`, the bytes are lent: they stay unchanged until it is called.
   */
  data(chunk: Buffer, release: Release | null): boolean;
  end(trailers: Fields): void;
}

function responseBody(length: ResponseFraming['length'], take: PieceTaker, lenient: boolean): BodyDecoder {
  // Chunk extensions are not limited: a service may sign every chunk of a body of any length.
  if (length === 'chunked') return new ChunkedBody(take, Number.POSITIVE_INFINITY, lenient);
  return length === 'until close' ? new UntilCloseBody(take) : new LengthBody(length, take);
}
