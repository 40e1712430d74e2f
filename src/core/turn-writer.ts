import type { Socket } from 'node:net';
import { atTurnEnd, type TurnTask } from './system.ts';

/** Gathers bytes that a socket is to write. */
export interface GatheredBytes {
  /** Returns what was gathered. The next byte that is gathered overwrites it, unless `lend` was called: then it stays. */
  take(): Buffer;
  lend(): void;
  /** Called when all that was lent may be overwritten. Some is never given back: the garbage collector frees it. */
  giveBack(): void;
  /** Whether the system takes more. Set after each write: while it does not, no more should be gathered than must be. */
  writable: boolean;
}

/** Called when the system has taken the bytes of a write, or could not. */
export type Written = (error?: Error | null) => void;

/**
 * Whether a `TurnWriter` writes.
 *
 * - `held` to `open`: `open` was called
 * - `held` or `open` to `finished`: `finish` was called
 */
type WriterPhase =
  /** Not yet: what comes is gathered. */
  | 'held'
  /** At the end of each turn in which something came. */
  | 'open'
  /** No more. */
  | 'finished';

/**
 * Writes what was gathered to a socket, at the end of a turn of the event loop: until then, other sockets are read, and what
 * follows from that leaves in the same write.
 */
export class TurnWriter implements TurnTask {
  readonly #socket: Socket;
  readonly #source: GatheredBytes;
  readonly #written: () => Written | undefined;
  readonly #left: () => void;
  #phase: WriterPhase = 'held';
  /** True while the system does not take all that was written. */
  #isFull = false;
  #willFlush = false;

  /**
   * Nothing is written before `open` is called.
   *
   * @param written called before each write; returns what to call once it is done
   * @param left called after a write of which the system has not taken everything
   */
  constructor(
    socket: Socket,
    source: GatheredBytes,
    written: () => Written | undefined = () => undefined,
    left: () => void = () => {},
  ) {
    this.#socket = socket;
    this.#source = source;
    this.#written = written;
    this.#left = left;
    socket.on('drain', () => this.#onDrain());
  }

  /** True while the system does not take all that was written, and so much waits that no more is written. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Writes what has been gathered, and from now on also what comes. */
  open(): void {
    if (this.#phase === 'held') this.#phase = 'open';
    this.#flush();
  }

  /** Called when something was gathered. */
  wake(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    atTurnEnd(this);
  }

  turnEnded(): void {
    this.#willFlush = false;
    this.#flush();
  }

  /** Writes all that was gathered, even if the system takes no more for now. Writes nothing from then on. */
  finish(): void {
    const isOpen = this.#phase === 'open';
    this.#phase = 'finished';
    if (isOpen) this.#write(this.#source.take());
  }

  #onDrain(): void {
    this.#isFull = false;
    this.#source.giveBack();
    this.#source.writable = true;
    this.#flush();
  }

  /** Writes nothing while the socket is full: control frames then wait at the source, which detects floods of them. */
  #flush(): void {
    if (this.#phase === 'open' && !this.#isFull) this.#write(this.#source.take());
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#isFull = !this.#socket.write(bytes, this.#written());
    const isLeft = this.#socket.writableLength > 0;
    if (isLeft) this.#source.lend();
    this.#source.writable = !this.#isFull;
    if (isLeft) this.#left();
  }
}
