import type { Socket } from 'node:net';
import { atTurnEnd, type TurnTask } from './system.ts';

/** Collects bytes for a socket. */
export interface GatheredBytes {
  /** Returns what was collected. The next byte overwrites it, unless `lend` was called: then it stays. */
  take(): Buffer;
  lend(): void;
  /** Called when everything lent may be overwritten. Some is never given back: the garbage collector frees it. */
  giveBack(): void;
  /** Whether the system accepts more. Set after each write: while false, no more should be collected than necessary. */
  writable: boolean;
}

/** Called when the system has taken the bytes of a write, or when the write has failed. */
export type Written = (error?: Error | null) => void;

/**
 * Whether a `TurnWriter` writes.
 *
 * - `held` to `open`: `open` was called
 * - `held` or `open` to `finished`: `finish` or `stop` was called
 */
type WriterPhase =
  /** Not yet: bytes are collected. */
  | 'held'
  /** At the end of each turn in which bytes were collected. */
  | 'open'
  /** Never again. */
  | 'finished';

/**
 * Writes collected bytes to a socket at the end of a turn of the event loop: before that, other sockets are read, and what
 * follows from them is sent in the same write.
 */
export class TurnWriter implements TurnTask {
  readonly #socket: Socket;
  readonly #source: GatheredBytes;
  readonly #written: () => Written | undefined;
  readonly #left: () => void;
  #phase: WriterPhase = 'held';
  /** True from a write after which the socket wants no more, until its `drain`. */
  #isFull = false;
  /** How often something was written. */
  writes = 0;
  #willFlush = false;

  /**
   * Writes nothing before `open` is called.
   *
   * @param written called before each write; returns a callback for its completion
   * @param left called after a write that the system has not taken completely
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

  /** True while so much waits for the system that no more is written. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Writes what was collected, and from now on also what follows. */
  open(): void {
    if (this.#phase === 'held') this.#phase = 'open';
    this.#flush();
  }

  /** Called when something was collected. */
  wake(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    atTurnEnd(this);
  }

  turnEnded(): void {
    this.#willFlush = false;
    this.#flush();
  }

  /** Writes everything collected, even if the system takes no more for now. Writes nothing after that. */
  finish(): void {
    const isOpen = this.#phase === 'open';
    this.#phase = 'finished';
    if (isOpen) this.#write(this.#source.take());
  }

  /** Writes nothing from now on: the bytes would not reach the peer. */
  stop(): void {
    this.#phase = 'finished';
  }

  #onDrain(): void {
    this.#isFull = false;
    this.#source.giveBack();
    this.#source.writable = true;
    this.#flush();
  }

  /** Writes nothing while the socket is full: then control frames wait at the source, which detects floods of them. */
  #flush(): void {
    if (this.#phase === 'open' && !this.#isFull) this.#write(this.#source.take());
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#isFull = !this.#socket.write(bytes, this.#written());
    if (this.#socket.errored === null) this.writes++;
    const isLeft = this.#socket.writableLength > 0;
    if (isLeft) this.#source.lend();
    this.#source.writable = !this.#isFull;
    if (isLeft) this.#left();
  }
}
