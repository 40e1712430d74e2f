import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * The server's end of a connection that exists in memory alone: what a test pushes is read from it, and what is written to
 * it is kept. It pauses, ends and closes as a socket does that lets its other end close first.
 */
export class MemorySocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  /** Latin-1. */
  written = '';
  #holds = false;
  #taken: ((error?: Error) => void) | null = null;

  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    this.bytesWritten += bytes.length;
    this.written += bytes.toString('latin1');
    if (this.#holds) this.#taken = done;
    else done();
  }

  /** The system takes nothing of what is written from now on. */
  hold(): void {
    this.#holds = true;
  }

  /** The system takes everything again. */
  release(): void {
    this.#holds = false;
    this.#taken?.();
    this.#taken = null;
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // The system gives up what it has not taken.
    this.#taken?.(new Error('canceled'));
    done(error);
  }

  /** The other end sends. The reader owns what it reads and may overwrite it. */
  bring(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    this.push(Buffer.from(bytes));
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
    this.end();
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  /** For code that takes a socket and uses only these members. */
  get asSocket(): Socket {
    return this as unknown as Socket;
  }
}
