import type { Socket } from 'node:net';
import { readDirectly, type TimerClock } from './system.ts';

/** One end of a connection whose protocol was switched: uninterpreted bytes in both directions. */
export interface ByteStream {
  /** Passes incoming bytes to this sink, beginning with those already read. Call it once. */
  start(sink: ByteSink): void;
  pause(): void;
  resume(): void;
  /**
   * Writes bytes. Returns true if the system has taken all of them, so that they may change; false to write no more, and change
   * none of them, until the sink's `drained` is called.
   */
  write(bytes: Uint8Array): boolean;
  /** Ends our direction after everything written. */
  end(): void;
  /** Closes as soon as the system has taken everything written, after some seconds at the latest. */
  endSoon(): void;
  destroy(): void;
  /** Registers a callback for when the connection is gone, whether or not the stream was started. */
  whenGone(then: () => void): void;
}

export interface ByteSink {
  /** Takes received bytes. They stay unchanged until the call returns, and permanently if the stream is paused in it. */
  bytes(piece: Buffer): void;
  /** Called when everything written has been taken. */
  drained(): void;
  /** Called when the peer has closed its direction. */
  ended(): void;
  /** Called last, when the connection is gone. */
  closed(): void;
}

const MIN_ROOM = 1_024;
export const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * Joins pieces of bytes in one buffer, which doubles as needed so that the work stays linear however small the pieces are. Keeps
 * no reference to the pieces: each would cost hundreds of bytes in addition to its data.
 */
export class GrowingBytes {
  readonly #usualBytes: number;
  #room: Buffer = NO_BYTES;
  /** Bytes of the buffer in use. */
  #end = 0;

  /** @param usualBytes usual length of the joined bytes; the buffer grows beyond it only when necessary */
  constructor(usualBytes = Number.POSITIVE_INFINITY) {
    this.#usualBytes = usualBytes;
  }

  get roomBytes(): number {
    return this.#room.length;
  }

  /** The size that the buffer will have once this many bytes were joined to `before`. */
  roomWith(before: Buffer, bytes: number): number {
    return this.#holds(before, bytes) ? this.#room.length : this.#roomFor(before.length + bytes);
  }

  /** Returns `before` followed by `piece`. Does not copy `before` if it is the end of the previous result. */
  join(before: Buffer, piece: Uint8Array): Buffer {
    const length = before.length + piece.length;
    if (!this.#holds(before, piece.length)) this.#move(before, length);
    this.#room.set(piece, this.#end);
    this.#end += piece.length;
    return this.#room.subarray(this.#end - length, this.#end);
  }

  /** Drops the buffer. Returned bytes stay valid. */
  forget(): void {
    this.#room = NO_BYTES;
    this.#end = 0;
  }

  /** Whether the bytes are the last ones in the buffer, with room for this many more after them. */
  #holds(bytes: Buffer, more: number): boolean {
    const { buffer, byteOffset, length } = this.#room;
    const isLast = bytes.buffer === buffer && bytes.byteOffset + bytes.length === byteOffset + this.#end;
    return isLast && this.#end + more <= length;
  }

  #roomFor(needed: number): number {
    const doubled = Math.max(MIN_ROOM, 2 * needed);
    return needed <= this.#usualBytes ? Math.min(this.#usualBytes, doubled) : doubled;
  }

  #move(before: Buffer, needed: number): void {
    // Not from Node's pool: a small buffer would keep the whole pool alive.
    this.#room = Buffer.allocUnsafeSlow(this.#roomFor(needed));
    this.#end = before.copy(this.#room);
  }
}

/** How long a receiver has to take the remaining bytes once the stream is to end. */
const END_SOON_MS = 5_000;

/** A socket whose protocol was switched. Before the switch, only `close` may have listeners. */
export class SocketStream implements ByteStream {
  readonly socket: Socket;
  readonly #clock: TimerClock;
  #sink: ByteSink | null = null;
  /** Bytes read before the switch. */
  #early: Buffer;
  #closed = false;

  /** @param early bytes that were already read */
  constructor(socket: Socket, early: Buffer, clock: TimerClock) {
    this.socket = socket;
    this.#clock = clock;
    this.#early = early;
    socket.pause();
    // 'close' follows and is handled; a TLS error leaves the socket open.
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
    // 'drain' is only emitted after large writes. This callback fires when everything before it is written.
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

  /** Passes what the socket reads to the sink from now on. */
  protected listen(sink: ByteSink): void {
    readDirectly(this.socket, piece => sink.bytes(piece));
    this.socket.resume();
  }

  /** Notifies the sink once: the 'close' of a socket destroyed before the start may be past, or still to come. */
  #close(sink: ByteSink): void {
    if (this.#closed) return;
    this.#closed = true;
    sink.closed();
  }
}

/** The length of a body according to its framing headers: a number of bytes, or unknown until its end (chunked). */
export type BodyLength = number | 'chunked';

/** A body not read yet. */
export interface BodySource {
  /** Whether `start` was called. After that, the body cannot be sent a second time. */
  readonly started: boolean;
  /** Passes the bytes to `sink`. Called at most once, when an upstream connection is available. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
}

export interface BodySink {
  /** Takes one piece, which then belongs to the sink. Returns false to pause, until the sink calls `resume` on the source. */
  chunk(bytes: Buffer): boolean;
  end(): void;
  /** Called if the body broke off: the receiver must not treat what it got as complete. */
  fail(): void;
}

/** Returns lent bytes; can be passed as the callback of a write. After an error they are never lent again. */
export type Release = (error?: Error | null) => void;

/** A read buffer whose pieces can be lent without a copy. */
export interface LendingBytes {
  readonly bytes: Buffer;
  /** Keeps all bytes unchanged until `release` is called once for them. */
  keep(): void;
  /** Lends the bytes from `from` to `to`; they stay unchanged until `release` is called once for them. */
  lend(from: number, to: number): Buffer;
  readonly release: Release;
}
