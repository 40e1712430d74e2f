import { GrowingBytes, NO_BYTES } from '../../../core/index.ts';
import { type FrameWriter, MAX_31_BITS, MAX_PAYLOAD } from '../frames/index.ts';
import { flowControlFault } from '../http2-fault.ts';

/** Maximum size of a piece of DATA: 4 KiB. */
const PIECE_BITS = 12;
/** The initial window of a connection or stream (RFC 9113, 6.9.2). */
export const FIRST_WINDOW = 65_535;

export interface Sender {
  readonly id: number;
  /** How many bytes the peer accepts on the stream. Negative if it has reduced its windows. */
  sendWindow: number;
  /** Bytes of DATA sent on the stream. */
  sentBytes: number;
  /** Bytes waiting to be sent; `null` until there are some. */
  outgoing: OutgoingBytes | null;
  /** From 0, the most urgent, to 7 (RFC 9218, 4.1). */
  readonly urgency: number;
  /** False if it is best sent completely, before others of the same urgency (RFC 9218, 4.2). */
  readonly isIncremental: boolean;
  /** Called when all bytes were sent, after some had to wait. */
  sent(): void;
}

/** Sends DATA as fast as the peer's windows and the socket allow. Where streams wait, the most urgent ones take turns. */
export class Sending {
  readonly #writer: FrameWriter;
  /** How many bytes the peer accepts on all streams together. */
  #window = FIRST_WINDOW;
  /** True while the socket accepts more. */
  #open = true;
  /** Streams with open windows that wait for the connection's window or the socket. */
  readonly #ready = new ReadyStreams();
  /** Bytes waiting on all streams. */
  waiting = 0;
  /** Bytes of DATA sent on all streams. */
  sentBytes = 0;
  /** Pieces of DATA sent that the peer may acknowledge one by one: as split by its windows, at most 4 KiB each. */
  pieces = 0;

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** True if streams wait for the connection's window or the socket. */
  get isBlocked(): boolean {
    return this.#ready.size > 0;
  }

  /** True if something waiting could be sent now. */
  get canGoOn(): boolean {
    return this.#ready.size > 0 && this.#isFree;
  }

  /** Sends bytes of a stream as far as possible, and keeps the rest. Returns whether all were sent. */
  send(stream: Sender, bytes: Buffer): boolean {
    // If others are waiting, this stream waits for its turn.
    const sent = this.#ready.size === 0 && isEmpty(stream) ? this.#sendAtOnce(stream, bytes) : 0;
    if (sent === bytes.length) return isEmpty(stream);
    stream.outgoing ??= new OutgoingBytes();
    stream.outgoing.push(sent === 0 ? bytes : bytes.subarray(sent));
    this.waiting += bytes.length - sent;
    this.#wait(stream);
    return false;
  }

  /** Sends more of a stream whose window has grown. */
  retry(stream: Sender): void {
    if (isEmpty(stream) || this.#ready.has(stream)) return;
    this.#ready.add(stream);
    this.sendReady();
  }

  /** Widens the connection's window, and sends more. Throws Http2Fault. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > MAX_31_BITS) throw flowControlFault('a window of the connection that overflows');
    this.sendReady();
  }

  /** Changes the windows of all streams, as a change of the first window does (RFC 9113, 6.9.2). Throws Http2Fault. */
  changeWindows(streams: readonly Sender[], change: number): void {
    for (const stream of streams) {
      stream.sendWindow += change;
      if (stream.sendWindow > MAX_31_BITS) throw flowControlFault('a window of a stream that overflows');
    }
    for (const stream of streams) this.retry(stream);
  }

  /** Sets whether the socket accepts more. */
  set open(open: boolean) {
    this.#open = open;
    this.sendReady();
  }

  /** Changes the urgency of a stream: `change` sets it. */
  reorder(stream: Sender, change: () => void): void {
    const isReady = this.#ready.delete(stream);
    change();
    if (isReady) this.#ready.add(stream);
  }

  forget(stream: Sender): void {
    if (stream.outgoing === null) return;
    this.#ready.delete(stream);
    this.waiting -= stream.outgoing.length;
    stream.outgoing = null;
  }

  /** Sends what can be sent now: one frame each of the most urgent streams, in turn. */
  sendReady(): void {
    while (this.canGoOn) {
      const stream = this.#ready.first();
      if (stream === undefined) return;
      this.#sendFrame(stream);
      if (!isEmpty(stream) && stream.sendWindow > 0 && !stream.isIncremental) continue;
      this.#ready.delete(stream);
      if (isEmpty(stream)) stream.sent();
      else this.#wait(stream);
    }
  }

  get #isFree(): boolean {
    return this.#open && this.#window > 0 && !this.#writer.isFull;
  }

  /** Queues a stream. One whose own window is closed is not queued: `retry` sends it. */
  #wait(stream: Sender): void {
    if (stream.sendWindow > 0) this.#ready.add(stream);
  }

  /** Returns how many bytes were sent. */
  #sendAtOnce(stream: Sender, bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#isFree && stream.sendWindow > 0) {
      const end = at + Math.min(MAX_PAYLOAD, bytes.length - at, this.#window, stream.sendWindow);
      this.#writer.data(stream.id, bytes, at, end);
      this.#count(stream, end - at);
      at = end;
    }
    return at;
  }

  #sendFrame(stream: Sender): void {
    const max = Math.min(MAX_PAYLOAD, this.#window, stream.sendWindow);
    const bytes = max > 0 ? stream.outgoing?.take(max) : undefined;
    if (bytes === undefined) return;
    this.#count(stream, bytes.length);
    this.waiting -= bytes.length;
    this.#writer.data(stream.id, bytes);
  }

  #count(stream: Sender, bytes: number): void {
    this.#window -= bytes;
    this.sentBytes += bytes;
    stream.sendWindow -= bytes;
    stream.sentBytes += bytes;
    this.pieces += 1 + (bytes >> PIECE_BITS);
  }
}

function isEmpty({ outgoing }: Sender): boolean {
  return outgoing === null || outgoing.length === 0;
}

/** Streams in the order in which they are sent: by urgency, then in turn. */
class ReadyStreams {
  /** One queue per urgency, created on demand: on most connections nothing ever waits. */
  readonly #queues: (Set<Sender> | undefined)[] = [];
  size = 0;

  has(stream: Sender): boolean {
    return this.size > 0 && this.#queues[stream.urgency]?.has(stream) === true;
  }

  add(stream: Sender): void {
    this.#queues[stream.urgency] ??= new Set();
    const queue = this.#queues[stream.urgency] as Set<Sender>;
    this.size -= queue.size;
    this.size += queue.add(stream).size;
  }

  delete(stream: Sender): boolean {
    const isGone = this.size > 0 && this.#queues[stream.urgency]?.delete(stream) === true;
    if (isGone) this.size--;
    return isGone;
  }

  first(): Sender | undefined {
    for (const queue of this.#queues) if (queue !== undefined) for (const stream of queue) return stream;
    return undefined;
  }
}

/** Waiting pieces below this size are copied and joined: each would keep alive the 64 KiB it is part of. */
export const JOINED_BYTES = 16_384;

/** Bytes written to a stream and not sent yet. */
export class OutgoingBytes {
  readonly #pieces: Buffer[] = [];
  /** The last piece if it was joined from small ones. */
  readonly #joined = new GrowingBytes();
  #isJoined = false;
  /** Bytes of the first piece already sent. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const isSmall = bytes.length < JOINED_BYTES;
    const before = isSmall && this.#isJoined ? this.#pieces.pop() : undefined;
    this.#pieces.push(isSmall ? this.#joined.join(before ?? NO_BYTES, bytes) : bytes);
    this.#isJoined = isSmall;
    this.#length += bytes.length;
  }

  /** Removes and returns up to `max` bytes of the first piece; `max` is above 0. Call it only if there are any. */
  take(max: number): Buffer {
    const first = this.#pieces[0] as Buffer;
    const bytes = first.subarray(this.#offset, this.#offset + max);
    this.#offset += bytes.length;
    this.#length -= bytes.length;
    if (this.#offset === first.length) {
      this.#pieces.shift();
      this.#offset = 0;
      if (this.#length === 0) {
        this.#isJoined = false;
        this.#joined.forget();
      }
    }
    return bytes;
  }
}

/** How much the peer may send on all streams before we grant more (RFC 9113, 6.9). */
export class ReceiveWindow {
  readonly #max: number;
  #left: number;
  /** Bytes consumed and not granted again yet. */
  #used = 0;
  /** Bytes received and not consumed yet. */
  held = 0;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Counts received bytes. Throws Http2Fault if they are more than was granted. */
  take(bytes: number): void {
    this.#left -= bytes;
    this.held += bytes;
    if (this.#left < 0) throw flowControlFault('more than the window of the connection');
  }

  /** Counts bytes that no longer take memory. Returns by how many bytes to reopen the window: 0 until half of it is consumed. */
  use(bytes: number): number {
    this.#used += bytes;
    this.held -= bytes;
    if (this.#used < this.#max / 2) return 0;
    const used = this.#used;
    this.#left += used;
    this.#used = 0;
    return used;
  }
}
