import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';

const STEP_MS = 100;

/** A connection that takes so many bytes a second of the system, and no more at once: TLS and HTTP may run on it. */
export class PacedSocket extends Duplex {
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  #isPaced = true;

  /** The end of the running test closes it. */
  constructor(port: number, bytesPerS: number) {
    super();
    this.#socket = connect({
      ...{ port, host: '127.0.0.1', noDelay: true },
      onread: {
        buffer: Buffer.alloc((bytesPerS * STEP_MS) / 1_000),
        callback: (length, buffer) => {
          this.push(Buffer.from(buffer.subarray(0, length)));
          return !this.#isPaced;
        },
      },
    });
    this.#timer = setInterval(() => this.#socket.resume(), STEP_MS);
    this.#socket.on('end', () => this.push(null));
    this.#socket.on('error', error => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
    onTestFinished(() => void this.destroy());
  }

  /** Takes everything as it comes from now on. */
  hurry(): void {
    this.#isPaced = false;
    this.#socket.resume();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    this.#socket.destroy();
    done(error);
  }
}
