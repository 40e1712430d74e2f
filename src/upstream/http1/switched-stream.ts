import type { Socket } from 'node:net';
import { type ByteSink, SocketStream, type TimerClock } from '../../core/index.ts';
import type { Reader, Reads, Slab, SlabStore } from './slab.ts';

/** What an idle socket reads into: enough for most messages, and little enough for tens of thousands of sockets. */
const SMALL_BYTES = 4_096;

/** The upstream's end of a connection whose protocol was switched. Uses a small read buffer while few bytes arrive. */
export class SwitchedStream extends SocketStream implements Reader {
  readonly #slabs: SlabStore;
  #small = Buffer.allocUnsafeSlow(SMALL_BYTES);
  /** The buffer to read into while many bytes arrive; `null` while `#small` is enough. */
  #slab: Slab | null = null;
  #to: ByteSink | null = null;

  constructor(socket: Socket, reads: Reads, slabs: SlabStore, early: Buffer, clock: TimerClock) {
    super(socket, early, clock);
    this.#slabs = slabs;
    reads.reader = this;
    socket.on('close', () => this.#change(null));
  }

  buffer(): Buffer {
    return this.#slab === null ? this.#small : this.#slab.bytes;
  }

  take(count: number): boolean {
    const { socket } = this;
    const bytes = this.buffer();
    this.#to?.bytes(bytes.subarray(0, count));
    if (socket.isPaused()) {
      this.#leave();
      return false;
    }
    // A read that fills its buffer left more in the socket; a shorter one has emptied it.
    if (count < bytes.length) this.#change(null);
    else if (this.#slab === null && !socket.destroyed) this.#change(this.#slabs.take());
    return true;
  }

  protected override listen(sink: ByteSink): void {
    this.#to = sink;
    this.socket.resume();
  }

  /**
   * Reads into other memory from here on: what was read is still to be written. TLS hands out the rest of a record even while
   * its socket is paused.
   */
  #leave(): void {
    this.#slab = null;
    this.#small = Buffer.allocUnsafeSlow(SMALL_BYTES);
  }

  #change(slab: Slab | null): void {
    this.#slab?.letGo();
    this.#slab = slab;
  }
}
