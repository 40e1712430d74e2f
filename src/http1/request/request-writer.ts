import type { BodyLength, BodySink, BodySource } from '../../core/index.ts';
import { chunkSize, LAST_CHUNK } from '../body/index.ts';
import type { Wire } from '../message/index.ts';
import type { OutgoingRequest } from './outgoing-request.ts';
import { requestHead } from './request-reader.ts';

/** Pieces up to this size are written as a string together with their framing: one write, one system call. */
const STRING_MAX_BYTES = 16_384;

export interface RequestWriterOwner {
  /** The last byte of the request is written. */
  requestSent(): void;
  /** The body broke off: what the upstream got must not look like a whole request. */
  requestBroken(): void;
}

/** Writes a request with a body as its pieces come. */
export class RequestWriter implements BodySink {
  readonly #wire: Wire;
  readonly #source: BodySource;
  readonly #length: BodyLength;
  readonly #owner: RequestWriterOwner;
  /** The head while it waits for the first piece of the body, then ''. */
  #head: string;
  #written = 0;
  #blocked = false;
  #over = false;

  constructor(wire: Wire, request: OutgoingRequest, source: BodySource, owner: RequestWriterOwner) {
    this.#wire = wire;
    this.#source = source;
    this.#length = request.bodyLength;
    this.#owner = owner;
    this.#head = requestHead(request);
  }

  /** Lets the body flow. Its first piece takes the head along, in one write. */
  start(): void {
    this.#source.start(this);
  }

  /** Writes the head by itself, if no piece of the body has taken it along. */
  writeHead(): void {
    if (!this.#over && this.#head !== '') this.#wire.write(this.#takeHead(), 'latin1');
  }

  /** Stops writing: the response is complete, or the connection is closed. */
  stop(): void {
    this.#over = true;
  }

  /** The socket has room again. */
  drained(): void {
    if (!this.#blocked || this.#over) return;
    this.#blocked = false;
    this.#source.resume();
  }

  chunk(bytes: Buffer): boolean {
    // Pauses the source: no one takes this any more.
    if (this.#over) return false;
    // An empty chunk would be the last one (RFC 9112, 7.1).
    if (bytes.length === 0) return true;
    this.#written += bytes.length;
    // RFC 9112, 6.3: bytes beyond the stated length would be read as another request.
    if (this.#length !== 'chunked' && this.#written > this.#length) {
      this.fail();
      return false;
    }
    const more = bytes.length <= STRING_MAX_BYTES ? this.#writeString(bytes) : this.#writeBytes(bytes);
    this.#blocked = !more;
    return more;
  }

  end(): void {
    if (this.#over) return;
    if (this.#length !== 'chunked' && this.#written !== this.#length) {
      this.fail();
      return;
    }
    if (this.#length === 'chunked') this.#wire.write(`${this.#takeHead()}${LAST_CHUNK}\r\n`, 'latin1');
    this.#over = true;
    this.#owner.requestSent();
  }

  fail(): void {
    if (this.#over) return;
    this.#over = true;
    this.#owner.requestBroken();
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }

  #writeString(bytes: Buffer): boolean {
    const text = bytes.toString('latin1');
    const framed = this.#length === 'chunked' ? `${chunkSize(bytes.length)}${text}\r\n` : text;
    return this.#wire.write(this.#takeHead() + framed, 'latin1');
  }

  #writeBytes(bytes: Buffer): boolean {
    const before = this.#takeHead() + (this.#length === 'chunked' ? chunkSize(bytes.length) : '');
    if (before === '') return this.#wire.write(bytes);
    this.#wire.cork();
    this.#wire.write(before, 'latin1');
    let more = this.#wire.write(bytes);
    if (this.#length === 'chunked') more = this.#wire.write('\r\n', 'latin1');
    this.#wire.uncork();
    return more;
  }
}
