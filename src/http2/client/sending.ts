import { ErrorCode } from '../error-code.ts';
import { type FrameWriter, MAX_31_BITS, MAX_PAYLOAD } from '../frames/index.ts';
import { Http2Fault } from '../http2-fault.ts';
import { FIRST_WINDOW } from './first-window.ts';
import type { OutgoingBytes } from './outgoing-bytes.ts';

/** The sending side of a stream. */
export interface Sender {
  readonly id: number;
  /** Bytes that the server takes of it. Below 0 if it has made its windows smaller. */
  sendWindow: number;
  readonly outgoing: OutgoingBytes;
  /** All of its bytes have been sent, of which some had to wait. */
  sent(): void;
}

/** Sends DATA as fast as the windows of the server and the socket allow, and lets streams take turns where they wait. */
export class Sending {
  readonly #writer: FrameWriter;
  /** Bytes that the server takes of all streams together. */
  #window = FIRST_WINDOW;
  /** The socket takes more. */
  #open = true;
  /** Streams with bytes that cannot be sent yet, in turn. */
  readonly #waiting = new Set<Sender>();

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Sends what a stream has just been given, as far as possible. */
  send(stream: Sender): void {
    // What waits goes first.
    if (this.#waiting.has(stream)) return;
    while (this.#sendFrame(stream));
    if (stream.outgoing.length > 0) this.#waiting.add(stream);
  }

  /** The server takes more of this stream. */
  retry(stream: Sender): void {
    if (!this.#waiting.has(stream)) return;
    while (this.#sendFrame(stream));
    this.#settle(stream);
  }

  /** The server takes more. Throws Http2Fault. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > MAX_31_BITS)
      throw new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, 'a window of the connection that overflows');
    this.sendWaiting();
  }

  /** The socket takes no more, or again some. */
  set open(open: boolean) {
    this.#open = open;
    if (open) this.sendWaiting();
  }

  forget(stream: Sender): void {
    this.#waiting.delete(stream);
  }

  /** Sends what can be sent now: a frame of each stream in turn. */
  sendWaiting(): void {
    for (let moved = true; moved; ) {
      moved = false;
      for (const stream of this.#waiting) {
        if (!this.#open || this.#window <= 0) return;
        if (!this.#sendFrame(stream)) continue;
        moved = true;
        this.#settle(stream);
      }
    }
  }

  #settle(stream: Sender): void {
    if (stream.outgoing.length > 0) return;
    this.#waiting.delete(stream);
    stream.sent();
  }

  /** False: nothing can be sent now. */
  #sendFrame(stream: Sender): boolean {
    const { outgoing } = stream;
    const max = Math.min(MAX_PAYLOAD, this.#window, stream.sendWindow);
    if (!this.#open || max <= 0 || outgoing.length === 0) return false;
    const bytes = outgoing.take(max);
    this.#window -= bytes.length;
    stream.sendWindow -= bytes.length;
    this.#writer.data(stream.id, bytes);
    return true;
  }
}
