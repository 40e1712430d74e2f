import type { Socket } from 'node:net';
import type { ByteSink, ByteStream } from './byte-stream.ts';

/** For a receiver that takes no more bytes. */
const END_SOON_MS = 5_000;
const NO_BYTES = Buffer.alloc(0);

/** A socket whose protocol was switched. Until then, only `close` may have listeners. */
export class SocketStream implements ByteStream {
  readonly socket: Socket;
  #sink: ByteSink | null = null;
  /** Read before the switch. */
  #early: Buffer;
  #closed = false;

  /** @param early bytes that were read already */
  constructor(socket: Socket, early: Buffer) {
    this.socket = socket;
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
    const timer = setTimeout(() => socket.destroy(), END_SOON_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.destroySoon();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Lets the socket hand what it reads to the sink, from now on. */
  protected listen(sink: ByteSink): void {
    this.socket.on('data', (piece: Buffer) => sink.bytes(piece));
    this.socket.resume();
  }

  /** Tells the sink once: a socket that was destroyed before the start may have its 'close' behind it, or still to come. */
  #close(sink: ByteSink): void {
    if (this.#closed) return;
    this.#closed = true;
    sink.closed();
  }
}
