import { parseFields, type WireFields } from './fields.ts';
import type { Framing } from './framing.ts';
import { Violation } from './violation.ts';

/** Takes one message as it is read. */
export interface MessageSink {
  /** The header section is complete: `bytes` holds it with its blank line. Says how the body is framed. */
  head(startLine: string, fields: WireFields, bytes: Buffer): Framing;
  data(bytes: Buffer): void;
}

export interface ReaderOptions {
  /** Lets chunk extensions pass, which RFC 9112 section 7.1.1 allows and the gateway never writes. Default false. */
  readonly chunkExtensions?: boolean;
}

type State =
  | 'head'
  | 'length'
  | 'chunk size'
  | 'chunk data'
  | 'chunk end'
  | 'trailers'
  | 'until close'
  | 'done';

const LF = 10;
const CR = 13;
const MAX_LINE_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 1024 * 1024;

/**
 * Reads one HTTP/1.1 message and refuses what two readers could take differently. It shares no code with the gateway or
 * with Node's parser, and so can judge both.
 */
export class MessageReader {
  readonly #sink: MessageSink;
  readonly #options: ReaderOptions;
  #state: State = 'head';
  #pending: Buffer = Buffer.alloc(0);
  #left = 0;
  trailers: WireFields = [];

  constructor(sink: MessageSink, options: ReaderOptions = {}) {
    this.#sink = sink;
    this.#options = options;
  }

  /** True before the first byte: a connection may end here. */
  get untouched(): boolean {
    return this.#state === 'head' && this.#pending.length === 0;
  }

  /** True while the header section is not complete. */
  get inHead(): boolean {
    return this.#state === 'head';
  }

  /** Takes the next bytes; null while the message goes on, else the bytes behind its end. Throws a Violation. */
  push(bytes: Buffer): Buffer | null {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    while (this.#state !== 'done') {
      if (!this.#step()) return null;
    }
    return this.#pending;
  }

  /** The sender closed its side: true when that completes the message. */
  closed(): boolean {
    return this.#state === 'until close' || this.#state === 'done';
  }

  /** Goes on as far as one step; false when more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#readHead();
      case 'length':
        return this.#readData('done');
      case 'chunk size':
        return this.#readChunkSize();
      case 'chunk data':
        return this.#readData('chunk end');
      case 'chunk end':
        return this.#readChunkEnd();
      case 'trailers':
        return this.#readTrailers();
      case 'until close':
        if (this.#pending.length > 0) this.#sink.data(this.#take(this.#pending.length));
        return false;
      case 'done':
        return false;
    }
  }

  #take(length: number): Buffer {
    const taken = this.#pending.subarray(0, length);
    this.#pending = this.#pending.subarray(length);
    return taken;
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#refuseBareLineFeed();
      if (this.#pending.length > MAX_HEAD_BYTES) throw new Violation('a header section without end');
      return false;
    }
    const bytes = this.#take(end + 4);
    const [startLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
    const framing = this.#sink.head(startLine, parseFields(lines), bytes);
    if (framing === 'chunked') this.#state = 'chunk size';
    else if (framing === 'close') this.#state = 'until close';
    else {
      this.#left = framing;
      this.#state = framing === 0 ? 'done' : 'length';
    }
    return true;
  }

  /** Without this a head whose lines end in bare LF would look like one that is still on its way. */
  #refuseBareLineFeed(): void {
    for (let at = this.#pending.indexOf(LF); at >= 0; at = this.#pending.indexOf(LF, at + 1)) {
      if (this.#pending[at - 1] !== CR) throw new Violation('a line that ends in a bare LF');
    }
  }

  #readData(next: State): boolean {
    if (this.#pending.length === 0) return false;
    const piece = this.#take(Math.min(this.#left, this.#pending.length));
    this.#left -= piece.length;
    if (this.#left === 0) this.#state = next;
    this.#sink.data(piece);
    return true;
  }

  #readChunkSize(): boolean {
    const line = this.#takeLine();
    if (line === null) return false;
    const match = /^([0-9a-fA-F]{1,12})(?:[ \t]*;([\t\x20-\x7e\x80-\xff]*))?$/.exec(line);
    if (match === null || (match[2] !== undefined && this.#options.chunkExtensions !== true)) {
      throw new Violation(`chunk size ${JSON.stringify(line.slice(0, 200))}`);
    }
    this.#left = Number.parseInt(match[1] ?? '', 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk data';
    return true;
  }

  #takeLine(): string | null {
    const end = this.#pending.indexOf(LF);
    if (end < 0) {
      if (this.#pending.length > MAX_LINE_BYTES) throw new Violation('a line without end');
      return null;
    }
    if (this.#pending[end - 1] !== CR) throw new Violation('a line that ends in a bare LF');
    return this.#take(end + 1).toString('latin1', 0, end - 1);
  }

  #readChunkEnd(): boolean {
    if (this.#pending.length < 2) return false;
    if (this.#take(2).toString('latin1') !== '\r\n') throw new Violation('a chunk longer than its size');
    this.#state = 'chunk size';
    return true;
  }

  #readTrailers(): boolean {
    if (this.#pending.length < 2) return false;
    if (this.#pending[0] === CR && this.#pending[1] === LF) this.#take(2);
    else {
      const end = this.#pending.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#refuseBareLineFeed();
        return false;
      }
      this.trailers = parseFields(
        this.#take(end + 4)
          .toString('latin1', 0, end)
          .split('\r\n'),
      );
    }
    this.#state = 'done';
    return true;
  }
}
