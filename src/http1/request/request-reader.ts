import { GrowingBytes } from '../../core/index.ts';
import { MalformedMessage, PartialHead } from '../message/index.ts';
import { type IncomingHead, readIncomingHead, withoutEmptyLines } from './incoming-head.ts';
import { RequestBody, type RequestBodyOwner } from './request-body.ts';

/** Reading stops while this much waits behind a request. Below it, keep reading: it is the only way to notice a disconnect. */
const MAX_WAITING_BYTES = 65_536;

const NO_BYTES = Buffer.alloc(0);

/** A head that does not end within its cap. */
export class OversizedHead extends MalformedMessage {}

export interface RequestReaderOwner extends RequestBodyOwner {
  /** A head is complete. The body, if there is one, is read once it is started. */
  requestBegun(head: IncomingHead, body: RequestBody | null): void;
}

/** Where in a request the next byte belongs. */
type Phase =
  /** In a head, or in the empty lines before it. */
  | 'head'
  /** In a body, which is read while it flows. */
  | 'body'
  /** Behind a request that is still being answered: there it waits. */
  | 'behind'
  /** Nowhere: reading has ended. */
  | 'over';

/** Reads the requests of one connection, each once the previous one is answered. Knows nothing of sockets. */
export class RequestReader {
  readonly #owner: RequestReaderOwner;
  #phase: Phase = 'head';
  /** Bytes not read yet, or the beginning of a head. */
  #waiting: Buffer = NO_BYTES;
  readonly #joined = new GrowingBytes(2 * MAX_WAITING_BYTES);
  readonly #partialHead = new PartialHead();
  /** The last head; null where it was too large to be remembered. */
  #before: IncomingHead | null = null;
  #body: RequestBody | null = null;
  #reading = false;

  constructor(owner: RequestReaderOwner) {
    this.#owner = owner;
  }

  /** The body that the next byte belongs to. Its request may have been answered already. */
  get body(): RequestBody | null {
    return this.#body;
  }

  /** Bytes that wait to be read. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A part of a head has come. */
  get insideHead(): boolean {
    return this.#phase === 'head' && this.#waiting.length > 0;
  }

  /** Whether further bytes are wanted. A head may grow up to its own cap; bytes after the end are thrown away. */
  get wantsMore(): boolean {
    if (this.#phase === 'head' || this.#phase === 'over' || this.#body?.flows === true) return true;
    return this.#waiting.length < MAX_WAITING_BYTES;
  }

  /** Reading has stopped because too many bytes wait behind a request. */
  get isFull(): boolean {
    return this.#phase === 'behind' && this.#waiting.length >= MAX_WAITING_BYTES;
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /** Whether a next request with the same fields, to the byte, will have the same array of them. */
  get remembersFields(): boolean {
    return this.#before !== null;
  }

  /** Where the connection would be if it ended now. `unread`: unknown until the waiting bytes are read. */
  get atEnd(): 'between requests' | 'inside a request' | 'unread' {
    const waits = this.#waiting.length > 0;
    if (this.#phase === 'head') return waits ? 'inside a request' : 'between requests';
    return this.#phase === 'body' && !waits ? 'inside a request' : 'unread';
  }

  add(bytes: Buffer): void {
    if (this.#phase !== 'over')
      this.#waiting = this.#waiting.length === 0 ? bytes : this.#joined.join(this.#waiting, bytes);
  }

  /**
   * Reads waiting bytes as far as they are wanted. Its owner may call it again from within: that call does nothing and
   * returns false. Throws MalformedMessage.
   */
  read(maxHeadBytes: number): boolean {
    if (this.#reading) return false;
    this.#reading = true;
    try {
      while (this.#waiting.length > 0 && this.#readPart(maxHeadBytes));
    } finally {
      this.#reading = false;
    }
    if (this.#waiting.length === 0) this.#joined.forget();
    return true;
  }

  /** The last request was answered: discards the rest of its body, and reads the next head. */
  next(): void {
    if (this.#phase === 'behind') this.#phase = 'head';
    this.#body?.discard();
  }

  /** Stops reading, and returns the bytes after the last request. */
  takeRest(): Buffer {
    const rest = this.#waiting;
    this.giveUp();
    return rest;
  }

  /** Stops reading for good. */
  giveUp(): void {
    this.#phase = 'over';
    this.#body = null;
    this.#waiting = NO_BYTES;
  }

  /** False: nothing more can be read for now. */
  #readPart(maxHeadBytes: number): boolean {
    if (this.#phase === 'head') return this.#readHead(maxHeadBytes);
    return this.#body?.flows === true && this.#readBody(this.#body);
  }

  #readHead(maxHeadBytes: number): boolean {
    const bytes = withoutEmptyLines(this.#waiting);
    this.#keep(bytes);
    if (bytes.length === 0 || !this.#partialHead.worthReading(bytes, maxHeadBytes)) return false;
    const head = readIncomingHead(bytes, Math.min(bytes.length, maxHeadBytes), this.#before);
    if (head === null) {
      if (bytes.length >= maxHeadBytes) throw new OversizedHead('a head that is too large');
      this.#partialHead.incomplete(bytes.length);
      return false;
    }
    this.#partialHead.complete();
    this.#before = head.section === null ? null : head;
    this.#keep(bytes.subarray(head.bytes));
    const { bodyLength } = head.framing;
    const hasBody = bodyLength !== 0 && typeof bodyLength !== 'object';
    this.#body = hasBody ? new RequestBody(bodyLength, this.#owner) : null;
    this.#phase = hasBody ? 'body' : 'behind';
    this.#owner.requestBegun(head, this.#body);
    return true;
  }

  #readBody(body: RequestBody): boolean {
    const bytes = this.#waiting;
    this.#waiting = NO_BYTES;
    const at = body.read(bytes);
    // The sink may have given up inside `read`.
    if (!body.done || this.#phase === 'over') return false;
    this.#body = null;
    this.#phase = body.discarded ? 'head' : 'behind';
    this.#keep(bytes.subarray(at));
    return true;
  }

  /** An empty view would keep the whole buffer behind it alive. */
  #keep(bytes: Buffer): void {
    this.#waiting = bytes.length === 0 ? NO_BYTES : bytes;
  }
}
