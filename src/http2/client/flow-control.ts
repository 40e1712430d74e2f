import { type FrameWriter, MAX_31_BITS, MAX_PAYLOAD } from '../frames/index.ts';
import { ErrorCode, Http2Fault } from '../http2-fault.ts';

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
  /** Streams with bytes that the server would take of them, but not of the connection, or the socket not: in turn. */
  readonly #ready = new Set<Sender>();

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Sends what a stream has just been given, as far as possible. */
  send(stream: Sender): void {
    // Where others wait, it waits for its turn.
    if (this.#ready.size === 0) while (this.#sendFrame(stream));
    this.#wait(stream);
  }

  /** The server takes more of this stream. */
  retry(stream: Sender): void {
    if (stream.outgoing.length === 0 || this.#ready.has(stream)) return;
    this.#ready.add(stream);
    this.#sendReady();
  }

  /** The server takes more. Throws Http2Fault. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > MAX_31_BITS)
      throw new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, 'a window of the connection that overflows');
    this.#sendReady();
  }

  /** RFC 9113, 6.9.2: all streams follow the first window. Throws Http2Fault. */
  changeWindows(streams: readonly Sender[], change: number): void {
    for (const stream of streams) {
      stream.sendWindow += change;
      if (stream.sendWindow > MAX_31_BITS)
        throw new Http2Fault(ErrorCode.FLOW_CONTROL_ERROR, 'a window of a stream that overflows');
    }
    for (const stream of streams) this.retry(stream);
  }

  /** The socket takes no more, or again some. */
  set open(open: boolean) {
    this.#open = open;
    this.#sendReady();
  }

  forget(stream: Sender): void {
    this.#ready.delete(stream);
  }

  /** Sends what can be sent now: a frame of each stream in turn. One that may go on is at the end again, where the loop comes by. */
  #sendReady(): void {
    for (const stream of this.#ready) {
      if (!this.#open || this.#window <= 0) return;
      this.#ready.delete(stream);
      this.#sendFrame(stream);
      if (stream.outgoing.length === 0) stream.sent();
      else this.#wait(stream);
    }
  }

  /** A stream whose own window is shut waits nowhere: `retry` finds it. */
  #wait(stream: Sender): void {
    if (stream.outgoing.length > 0 && stream.sendWindow > 0) this.#ready.add(stream);
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

/** What was written to a stream and has not been sent. */
export class OutgoingBytes {
  readonly #pieces: Buffer[] = [];
  /** Bytes of the first piece that were sent. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  /** Takes bytes that lie together, at most `max`, which is above 0. Call it only if there are any. */
  take(max: number): Buffer {
    const first = this.#pieces[0] as Buffer;
    const bytes = first.subarray(this.#offset, this.#offset + max);
    this.#offset += bytes.length;
    this.#length -= bytes.length;
    if (this.#offset === first.length) {
      this.#pieces.shift();
      this.#offset = 0;
    }
    return bytes;
  }
}

/** How much the other side may send before we let it send more (RFC 9113, 6.9). */
export class ReceiveWindow {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Counts bytes that came. False: they are more than was allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** Opens the window again as soon as half of it is used. Returns by how much: 0 if it has to do for now. */
  reopen(): number {
    const used = this.#max - this.#left;
    if (used < this.#max / 2) return 0;
    this.#left = this.#max;
    return used;
  }
}

/** The window of a connection or stream until someone says otherwise (RFC 9113, 6.9.2). */
export const FIRST_WINDOW = 65_535;
