import { GrowingBytes, type LendingBytes, type Release } from '../../core/index.ts';
import {
  type BodyDecoder,
  ChunkedBody,
  JoinedPieces,
  LengthBody,
  type PieceTaker,
  UntilCloseBody,
} from '../body/index.ts';
import { MalformedMessage, PartialHead, sectionEnd } from '../message/index.ts';
import { responseFraming } from './response-framing.ts';
import { type ResponseHead, readResponseHead } from './response-head.ts';
import type { ResponseSink } from './response-sink.ts';

/** A response up to this size, head included, is handed on whole when it comes in one read. */
const WHOLE_MAX_BYTES = 16_384;
/** Smaller pieces of a body are copied: lending them would keep a whole slab from being filled again. */
const LEND_MIN_BYTES = 2_048;
/** Interim responses before the final one; a server that sends more is at fault. */
const MAX_INTERIM = 16;
const NO_BYTES = Buffer.alloc(0);

/** Where in a response the next byte belongs. */
type Phase =
  /** In the head of an interim or final response. */
  | 'head'
  /** In a body, whose head the sink has. */
  | 'body'
  /** Nowhere: the response is complete, or was given up. */
  | 'over';

/** Reads the responses of one connection, one after the other, and hands each to its sink. Knows nothing of sockets. */
export class ResponseReader {
  readonly #maxHeadBytes: number;
  #phase: Phase = 'over';
  #method = '';
  #sink: ResponseSink | null = null;
  /** The beginning of a head that is not complete. */
  #headBytes: Buffer = NO_BYTES;
  readonly #headJoined = new GrowingBytes();
  readonly #partialHead = new PartialHead();
  #interim = 0;
  #body: BodyDecoder | null = null;
  /** The body's part of the bytes at hand. */
  readonly #found = new JoinedPieces();
  /** While a response may still be handed on whole: its bytes as a string, and its body as far as it was found. */
  #text: string | null = null;
  #gathered = '';
  /** The slab that is being read; null for bytes of our own, which are not overwritten. */
  #slab: LendingBytes | null = null;
  #wantsMore = true;
  #begun = false;
  #close = false;
  #keepAliveMs: number | null = null;
  #status = 0;
  #bodiless = false;

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** A byte of the present response has come. */
  get begun(): boolean {
    return this.#begun;
  }

  /** The sink has the head of the final response. */
  get inBody(): boolean {
    return this.#phase === 'body' && this.#text === null;
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /** How many interim responses have come. */
  get interim(): number {
    return this.#interim;
  }

  /** The connection must carry no further request. */
  get close(): boolean {
    return this.#close;
  }

  /** How long the server keeps the connection, as its last response said. */
  get keepAliveMs(): number | null {
    return this.#keepAliveMs;
  }

  /** Of the last response. */
  get status(): number {
    return this.#status;
  }

  /** No byte of a body came with the last response, whatever its framing. */
  get bodiless(): boolean {
    return this.#bodiless;
  }

  /** Gets ready for the response to a request with this method. */
  begin(method: string, sink: ResponseSink): void {
    this.#phase = 'head';
    this.#method = method;
    this.#sink = sink;
    this.#forgetHead();
    this.#interim = 0;
    this.#begun = false;
    this.#close = false;
  }

  /** The sink wants nothing more. */
  giveUp(): void {
    this.#phase = 'over';
    this.#sink = null;
    this.#body = null;
  }

  /**
   * Reads the first `end` bytes of the slab. False: the sink has enough for now. Throws MalformedMessage and leaves it to the
   * caller to tell the sink.
   */
  read(slab: LendingBytes, end: number): boolean {
    this.#begun = true;
    this.#wantsMore = true;
    this.#slab = slab;
    if (this.#phase === 'body') this.#readBody(slab.bytes, 0, end);
    else this.#readHeads(slab.bytes, end);
    return this.#wantsMore;
  }

  /** The connection has ended. True: that completed the response. */
  ended(): boolean {
    if (!(this.#body instanceof UntilCloseBody) || this.#sink === null) return false;
    const sink = this.#sink;
    this.giveUp();
    sink.end([]);
    return true;
  }

  /** Interim responses, if any, and the head of the final one. */
  #readHeads(bytes: Buffer, end: number): void {
    if (this.#headBytes.length > 0) {
      bytes = this.#headJoined.join(this.#headBytes, bytes.subarray(0, end));
      end = bytes.length;
      this.#slab = null;
      this.#headBytes = bytes;
      if (!this.#partialHead.worthReading(bytes, this.#maxHeadBytes)) return;
    }
    while (this.#phase === 'head') {
      const headEnd = Math.min(end, this.#maxHeadBytes);
      // Larger responses are not handed on whole: only the head of those is needed as a string.
      const text = bytes.toString('latin1', 0, end <= WHOLE_MAX_BYTES ? end : sectionEnd(bytes, 0, headEnd));
      const head = readResponseHead(bytes, headEnd, text);
      if (head === null) {
        this.#keepHead(bytes, end);
        return;
      }
      if (head.status >= 200) {
        this.#begin(head, bytes, end, text);
        return;
      }
      this.#passInterim(head);
      bytes = bytes.subarray(head.bytes, end);
      end = bytes.length;
      // From here on, positions are no longer those of the slab.
      this.#slab = null;
      if (end > 0) bytes = Buffer.from(bytes);
    }
  }

  #keepHead(bytes: Buffer, end: number): void {
    if (end >= this.#maxHeadBytes) throw new MalformedMessage('a head that is too large');
    this.#partialHead.incomplete(end);
    // A slab is about to be filled again, so its bytes are copied; others are our own already.
    const head = bytes.subarray(0, end);
    this.#headBytes = this.#slab === null ? head : this.#headJoined.join(NO_BYTES, head);
  }

  #forgetHead(): void {
    this.#headBytes = NO_BYTES;
    this.#headJoined.forget();
    this.#partialHead.complete();
  }

  /** RFC 9110, 15.2: any number of interim responses may come before the final one, asked for or not. */
  #passInterim(head: ResponseHead): void {
    // RFC 9110, 15.2.2: the upgrade that a 101 agrees to was never offered.
    if (head.status === 101) throw new MalformedMessage('an upgrade that was not asked for');
    // RFC 9110, 15.2: HTTP/1.0 knows no interim responses.
    if (head.httpMinor === 0) throw new MalformedMessage('an interim response in HTTP/1.0');
    if (++this.#interim > MAX_INTERIM) throw new MalformedMessage('too many interim responses');
    this.#forgetHead();
    const { close, fields } = responseFraming(this.#method, head);
    if (close) this.#close = true;
    // A 100 asks for a body that is already on its way, or comes when the client sends it.
    if (head.status === 100) return;
    this.#sink?.info(head.status, fields);
  }

  /** The final response: whole, if its body is here as well. */
  #begin(head: ResponseHead, bytes: Buffer, end: number, text: string): void {
    const { length, close, keepAliveMs, fields } = responseFraming(this.#method, head);
    this.#forgetHead();
    if (close) this.#close = true;
    this.#keepAliveMs = keepAliveMs;
    this.#status = head.status;
    this.#bodiless = true;
    const body = decoderOf(length, this.#takePiece);
    this.#body = body;
    this.#phase = 'body';
    const bodyLength = typeof length === 'number' ? length : null;
    if (end > WHOLE_MAX_BYTES || length === 'until close') {
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
    let behind = end;
    try {
      behind = this.#body.decode(bytes, at, end);
    } finally {
      // Hands on even what came before a mistake.
      if (!this.#found.isEmpty) this.#handOn(bytes, this.#found);
    }
    this.#endIfDone(behind, end);
  }

  #endIfDone(at: number, end: number): void {
    if (this.#body?.done !== true) return;
    const { trailers } = this.#body;
    this.#finish(at, end)?.end(trailers);
  }

  /** The response is complete. Bytes behind it answer no request (RFC 9112, 9.2). */
  #finish(at: number, end: number): ResponseSink | null {
    const sink = this.#sink;
    if (at < end) this.#close = true;
    this.giveUp();
    this.#wantsMore = true;
    return sink;
  }

  readonly #takePiece: PieceTaker = (bytes, from, to) => {
    this.#bodiless = false;
    if (this.#text !== null) this.#gathered += this.#text.slice(from, to);
    else this.#found.add(bytes, from, to);
  };

  #handOn(bytes: Buffer, { from, to }: JoinedPieces): void {
    if (this.#slab === null) this.#give(bytes.subarray(from, to), null);
    else if (to - from < LEND_MIN_BYTES) this.#give(Buffer.from(bytes.subarray(from, to)), null);
    else this.#give(this.#slab.lend(from, to), this.#slab.release);
  }

  #give(piece: Buffer, taken: Release | null): void {
    if (this.#sink?.data(piece, taken) === false) this.#wantsMore = false;
  }
}

function decoderOf(length: number | 'chunked' | 'until close', take: PieceTaker): BodyDecoder {
  // A service may sign every chunk, of a body of any length.
  if (length === 'chunked') return new ChunkedBody(take, Number.POSITIVE_INFINITY);
  return length === 'until close' ? new UntilCloseBody(take) : new LengthBody(length, take);
}
