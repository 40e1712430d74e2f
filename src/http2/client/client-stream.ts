import { GrowingBytes } from '../../core/index.ts';
import type { HeaderSection } from '../hpack/index.ts';
import { ErrorCode } from '../http2-fault.ts';
import { OutgoingBytes, ReceiveWindow, type Sender } from './flow-control.ts';

const NO_BYTES: Buffer = Buffer.alloc(0);
/** Pieces from this size on are handed on without a copy. Smaller ones are copied, or they would keep the large buffer around them. */
const KEPT_BYTES = 4_096;

/** The connection of a stream as the stream uses it. */
export interface StreamHost {
  send(stream: ClientStream): void;
  endData(stream: ClientStream): void;
  /** Sends RST_STREAM, which closes the stream. */
  cancel(stream: ClientStream, code: number): void;
  /** Lets the server send this many bytes more. */
  openWindow(stream: ClientStream, bytes: number): void;
  /** Lets a handler keep these bytes: they are not overwritten. */
  keep(bytes: Buffer): Buffer;
  /** Called when both sides have ended the stream: it is closed. */
  over(stream: ClientStream): void;
}

interface StreamTerms {
  /** How many bytes the server accepts at first; `receiveWindow` is what we accept. */
  readonly sendWindow: number;
  readonly receiveWindow: number;
  /** True if the request has no body. */
  readonly endsAtOnce: boolean;
}

/** One request with its response, on a stream of HTTP/2. */
export class ClientStream implements Sender {
  readonly id: number;
  sendWindow: number;
  readonly outgoing = new OutgoingBytes();
  readonly #host: StreamHost;
  readonly #handler: StreamHandler;
  readonly #window: ReceiveWindow;
  #local: 'open' | 'ending' | 'ended';
  #remote: 'open' | 'ended' = 'open';
  /** True once a header section has come. */
  #isBegun = false;
  /** True once neither side sends anything more. */
  #isClosed = false;
  /** True once the handler is not called any more. */
  #isDetached = false;
  /** True while the handler wants no more. */
  #isPaused = false;
  /** The bytes that came during the pause. */
  #held = NO_BYTES;
  #heldRoom: GrowingBytes | null = null;
  #heldTrailers: HeaderSection | null = null;

  constructor(id: number, host: StreamHost, handler: StreamHandler, terms: StreamTerms) {
    this.id = id;
    this.sendWindow = terms.sendWindow;
    this.#host = host;
    this.#handler = handler;
    this.#window = new ReceiveWindow(terms.receiveWindow);
    this.#local = terms.endsAtOnce ? 'ended' : 'open';
  }

  /** True once the server has ended its side. */
  get isAnswered(): boolean {
    return this.#remote === 'ended';
  }

  /** How many bytes were written and could not be sent yet. */
  get unsent(): number {
    return this.outgoing.length;
  }

  /** Sends bytes, which must not change any more. Returns false if some have to wait: `drained` tells the handler when they are sent. */
  write(bytes: Buffer): boolean {
    if (this.#isClosed || this.#local !== 'open') return false;
    this.outgoing.push(bytes);
    this.#host.send(this);
    return this.outgoing.length === 0;
  }

  /** Ends the request. */
  end(): void {
    if (this.#isClosed || this.#local !== 'open') return;
    this.#local = 'ending';
    if (this.outgoing.length === 0) this.sent();
  }

  sent(): void {
    if (this.#local === 'open') {
      if (!this.#isDetached) this.#handler.drained();
      return;
    }
    this.#local = 'ended';
    this.#host.endData(this);
    this.#closeIfOver();
  }

  /** Lets the response flow again. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    const held = this.#held;
    this.#held = NO_BYTES;
    this.#heldRoom?.forget();
    if (held.length > 0) this.#handOn(held);
    else this.#reopen();
    if (this.#remote === 'ended' && !this.#isPausedNow()) this.#finish();
  }

  /** Gives up the rest of the stream. The handler is not called any more. Returns whether anything was left. */
  cancel(code: number = ErrorCode.CANCEL): boolean {
    this.#isDetached = true;
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#host.cancel(this, code);
    return true;
  }

  /** Closes the stream because the server broke a rule on it (RFC 9113, 5.4.2). */
  fail(why: string, code: number = ErrorCode.PROTOCOL_ERROR): void {
    if (this.#isDetached) return;
    this.cancel(code);
    this.#handler.closed({ how: 'malformed', why });
  }

  /** Notes that the connection has closed the stream. */
  close(end: StreamEnd): void {
    this.#isClosed = true;
    // A response that has come whole is still handed on, at the pace of the handler.
    if (this.#remote === 'ended' || this.#isDetached) return;
    this.#isDetached = true;
    this.#handler.closed(end);
  }

  onSection(section: HeaderSection, ends: boolean): void {
    this.#isBegun = true;
    if (ends) this.#endRemote();
    if (this.#isPausedNow()) {
      // After data, only trailers can come, and they end the stream.
      if (ends) this.#heldTrailers = section;
      else this.fail('a header section inside a body');
      return;
    }
    this.#handler.section(section, ends);
    if (ends) this.#finish();
  }

  onData(bytes: Buffer, flowBytes: number, ends: boolean): void {
    if (!this.#isBegun) {
      this.fail('a body in front of its head');
      return;
    }
    if (!this.#window.take(flowBytes)) {
      this.fail('more than the window of the stream', ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    if (ends) this.#endRemote();
    if (this.#isPausedNow()) {
      this.#hold(bytes);
      return;
    }
    if (bytes.length > 0)
      this.#handOn(bytes.length < KEPT_BYTES ? Buffer.from(bytes) : this.#host.keep(bytes));
    else this.#reopen();
    if (ends && !this.#isPausedNow()) this.#finish();
  }

  /** Keeps the compiler from assuming that a call in between left the stream flowing. */
  #isPausedNow(): boolean {
    return this.#isPaused;
  }

  /** Joins held bytes in one buffer, since a server may send its body byte by byte. */
  #hold(bytes: Buffer): void {
    this.#heldRoom ??= new GrowingBytes();
    this.#held = this.#heldRoom.join(this.#held, bytes);
  }

  #handOn(bytes: Buffer): void {
    if (this.#isDetached) return;
    this.#isPaused = !this.#handler.data(bytes);
    if (!this.#isPaused) this.#reopen();
  }

  #reopen(): void {
    if (this.#remote === 'ended' || this.#isClosed) return;
    const bytes = this.#window.reopen();
    if (bytes > 0) this.#host.openWindow(this, bytes);
  }

  #endRemote(): void {
    this.#remote = 'ended';
    this.#closeIfOver();
  }

  #finish(): void {
    if (this.#heldTrailers !== null && !this.#isDetached) this.#handler.section(this.#heldTrailers, true);
    if (this.#isDetached) return;
    this.#isDetached = true;
    this.#handler.ended();
    // The response is whole: what is left of the request is not wanted.
    this.cancel();
  }

  #closeIfOver(): void {
    if (this.#isClosed || this.#local !== 'ended' || this.#remote !== 'ended') return;
    this.#isClosed = true;
    this.#host.over(this);
  }
}

/** Takes what comes on a stream. */
export interface StreamHandler {
  /** Takes a header section: the head of an interim or final response, or trailers. `ends` is true if nothing follows. */
  section(section: HeaderSection, ends: boolean): void;
  /** Takes a piece of the body, which is the handler's from here on. Returns false if it wants no more until it resumes the stream. */
  data(bytes: Buffer): boolean;
  /** Called last, when the response has ended by END_STREAM. */
  ended(): void;
  /** Called when what had to wait has been sent. */
  drained(): void;
  /** Called last, when the stream is closed before the response has ended. */
  closed(end: StreamEnd): void;
}

/** How a stream ended early. */
export type StreamEnd =
  /** The server sent RST_STREAM. */
  | { readonly how: 'reset'; readonly code: number }
  /** The server broke a rule, and RST_STREAM was sent to it. */
  | { readonly how: 'malformed'; readonly why: string }
  /** The server said by GOAWAY, with this code, that it has not looked at the stream and will not (RFC 9113, 6.8). */
  | { readonly how: 'unprocessed'; readonly code: number }
  /** The connection is lost. */
  | { readonly how: 'lost' };
