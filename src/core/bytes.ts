import type { Socket } from 'node:net';
import { readDirectly, type TimerClock } from './system.ts';

/** One end of a connection whose protocol was switched: bytes both ways, without meaning. */
export interface ByteStream {
  /** Passes incoming bytes to this sink, first those already read. Call it once. */
  start(sink: ByteSink): void;
  pause(): void;
  resume(): void;
  /**
   * Writes bytes. Returns true if the system has taken everything, so that they may change; false to write no more, and change none
   * of them, until `drained` is called on the sink.
   */
  write(bytes: Uint8Array): boolean;
  /** Ends our direction behind what was written. */
  end(): void;
  /** Closes as soon as the system has taken what was written, at the latest after some seconds. */
  endSoon(): void;
  /** Closes at once. */
  destroy(): void;
  /** Calls back once when the connection is gone, whether the stream was started or not. */
  whenGone(then: () => void): void;
}

/** Hears what happens at one end. */
export interface ByteSink {
  /** Takes bytes that came. They stay unchanged until the call returns, and for good if the stream is paused in it. */
  bytes(piece: Buffer): void;
  /** All that was written has been taken. */
  drained(): void;
  /** The other side has closed its direction. */
  ended(): void;
  /** The connection is gone. The last call. */
  closed(): void;
}

const MIN_ROOM = 1_024;
export const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Joins pieces of bytes in one buffer, which doubles as needed so that the work stays linear however small the pieces are. Keeps
 * no reference to the pieces: each would cost hundreds of bytes on top of its data.
 */
export class GrowingBytes {
  readonly #usualBytes: number;
  #room: Buffer = NO_BYTES;
  /** Bytes of the room in use. */
  #end = 0;

  /** @param usualBytes usual length of the joined bytes; the buffer grows beyond it only when necessary */
  constructor(usualBytes = Number.POSITIVE_INFINITY) {
    this.#usualBytes = usualBytes;
  }

  /** The size of the buffer. */
  get roomBytes(): number {
    return this.#room.length;
  }

  /** Returns `before` followed by `piece`. Does not copy `before` if it is the end of the previous result. */
  join(before: Buffer, piece: Uint8Array): Buffer {
    const length = before.length + piece.length;
    if (!this.#isLast(before) || this.#end + piece.length > this.#room.length) this.#move(before, length);
    this.#room.set(piece, this.#end);
    this.#end += piece.length;
    return this.#room.subarray(this.#end - length, this.#end);
  }

  /** Drops the buffer. What was returned stays valid. */
  forget(): void {
    this.#room = NO_BYTES;
    this.#end = 0;
  }

  #isLast(bytes: Buffer): boolean {
    const { buffer, byteOffset } = this.#room;
    return bytes.buffer === buffer && bytes.byteOffset + bytes.length === byteOffset + this.#end;
  }

  #move(before: Buffer, needed: number): void {
    const doubled = Math.max(MIN_ROOM, 2 * needed);
    const room = needed <= this.#usualBytes ? Math.min(this.#usualBytes, doubled) : doubled;
    // Not from Node's pool: a small buffer would keep the whole pool alive.
    this.#room = Buffer.allocUnsafeSlow(room);
    this.#end = before.copy(this.#room);
  }
}

/** For a receiver that takes no more bytes. */
const END_SOON_MS = 5_000;

/** A socket whose protocol was switched. Until then, only `close` may have listeners. */
export class SocketStream implements ByteStream {
  readonly socket: Socket;
  readonly #clock: TimerClock;
  #sink: ByteSink | null = null;
  /** Read before the switch. */
  #early: Buffer;
  #closed = false;

  /** @param early bytes that were read already */
  constructor(socket: Socket, early: Buffer, clock: TimerClock) {
    this.socket = socket;
    this.#clock = clock;
    this.#early = early;
    socket.pause();
    // 'close' follows and is handled; TLS that breaks leaves its socket open.
    socket.on('error', () => socket.destroy());
  }

  start(sink: ByteSink): void {
    this.#sink = sink;
    const { socket } = this;
    socket.on('end', () => sink.ended());
    socket.on('close', () => this.#close(sink));
    const early = this.#early;
    this.#early = NO_BYTES;
    this.listen(sink);
    if (early.length > 0) sink.bytes(early);
    if (socket.destroyed) process.nextTick(() => this.#close(sink));
    else if (socket.readableEnded) process.nextTick(() => sink.ended());
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  write(bytes: Uint8Array): boolean {
    const { socket } = this;
    if (!socket.writable) return true;
    socket.write(bytes);
    if (socket.writableLength === 0) return true;
    // 'drain' comes only where much was written. This is written when all before it is.
    socket.write(NO_BYTES, () => this.#sink?.drained());
    return false;
  }

  end(): void {
    this.socket.end();
  }

  endSoon(): void {
    const { socket } = this;
    const timer = this.#clock.after(END_SOON_MS, () => socket.destroy());
    socket.once('close', () => this.#clock.cancel(timer));
    socket.destroySoon();
  }

  destroy(): void {
    this.socket.destroy();
  }

  whenGone(then: () => void): void {
    if (this.socket.closed) process.nextTick(then);
    else this.socket.once('close', then);
  }

  /** Lets the socket hand what it reads to the sink, from now on. */
  protected listen(sink: ByteSink): void {
    readDirectly(this.socket, piece => sink.bytes(piece));
    this.socket.resume();
  }

  /** Tells the sink once: a socket that was destroyed before the start may have its 'close' behind it, or still to come. */
  #close(sink: ByteSink): void {
    if (this.#closed) return;
    this.#closed = true;
    sink.closed();
  }
}

/** How long a body is by its framing headers: a number of bytes, or unknown until it ends (chunked). */
export type BodyLength = number | 'chunked';

/** A body not read yet. */
export interface BodySource {
  /** Whether `start` was called: from then on the body cannot be sent a second time. */
  readonly started: boolean;
  /** Lets the bytes flow into `sink`. Called at most once, when an upstream connection is held. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
}

export interface BodySink {
  /** Takes one piece, which the sink owns from now on. Returns false to pause, until the sink calls `resume` on the source. */
  chunk(bytes: Buffer): boolean;
  end(): void;
  /** The body broke off: the receiver must not take what it got for the whole. */
  fail(): void;
}

/** Gives lent bytes back; fits as the callback of a write. After an error they are never lent out again. */
export type Release = (error?: Error | null) => void;

/** A read buffer whose pieces can be lent out without a copy. */
export interface LendingBytes {
  readonly bytes: Buffer;
  /** Keeps all bytes unchanged until `release` is called once for them. */
  keep(): void;
  /** Lends the bytes from `from` to `to`; they stay unchanged until `release` is called once for them. */
  lend(from: number, to: number): Buffer;
  readonly release: Release;
}
