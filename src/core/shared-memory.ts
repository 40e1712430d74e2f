import { bytesOf, derivedKey, MAIN_THREAD, type TableMemory, Words } from './collections.ts';
import { inNextTurn, type RandomBytes, randomKey } from './system.ts';

/** The first words of the control part. Those of each thread follow, on separate cache lines. */
const LOCK = 0;
const FREE = 0;
const LINE = 32;

/** Maximum writes between two consistent states. A decision in a full table makes up to 3,000. */
const NOTES = 8_192;
// Offsets of words in a note.
const TABLE = 0;
const AT = 1;
const OLD = 2;
const NOTE_WORDS = 3;

const JOURNAL_WORDS = LINE + NOTES * NOTE_WORDS;

/**
 * The values that one thread has overwritten since it took the lock, in shared memory, so that the main thread can restore them
 * if the thread dies. A note is complete before the count covers it, and the count covers it before the word changes. V8 ends a
 * thread only between statements, and the main thread is notified after the thread has ended, so it finds every earlier write.
 */
class Journal {
  readonly #control: Int32Array;
  readonly #start: number;
  #count = 0;
  /** The number of notes that may still be written; 0 outside `whole`, where no thread may write. */
  #room = 0;

  constructor(control: Int32Array, worker: number) {
    this.#control = control;
    this.#start = LINE + worker * JOURNAL_WORDS;
  }

  open(): void {
    this.#room = NOTES;
  }

  note(table: number, at: number, old: number): void {
    if (this.#count === this.#room) throw new Error('a write outside of "whole", or too many inside');
    const control = this.#control;
    const word = this.#start + LINE + this.#count * NOTE_WORDS;
    control[word + TABLE] = table;
    control[word + AT] = at;
    control[word + OLD] = old;
    control[this.#start] = ++this.#count;
  }

  keep(): void {
    if (this.#count === 0) return;
    this.#count = 0;
    Atomics.store(this.#control, this.#start, 0);
  }

  close(): void {
    this.keep();
    this.#room = 0;
  }

  /** Restores the old values, the last one first. Idempotent. */
  undo(wordsOf: (table: number) => Int32Array): void {
    const control = this.#control;
    for (let note = (control[this.#start] ?? 0) - 1; note >= 0; note--) {
      const word = this.#start + LINE + note * NOTE_WORDS;
      wordsOf(control[word + TABLE] ?? 0)[control[word + AT] ?? 0] = control[word + OLD] ?? 0;
    }
    this.#count = 0;
    Atomics.store(control, this.#start, 0);
  }
}

/** What the main thread passes to a worker, by `workerData` or a message: the memory itself, not a copy. */
export interface MemoryHandover {
  readonly threads: number;
  readonly control: SharedArrayBuffer;
  /** The tables in the order in which the main thread created them: the journal identifies a table by its index here. */
  readonly tables: Map<string, SharedArrayBuffer>;
  readonly secret: Uint8Array;
  readonly hashRoot: Uint8Array;
}

/** Waits briefly for a lock held by this thread (`owner`: its number + 1). `turn` counts the calls from 0. */
export type LockWait = (control: Int32Array, owner: number, turn: number) => void;

/**
 * The number of tries before a thread waits. A holder releases the lock within about a microsecond, unless the system has
 * suspended it.
 */
const SPINS = 200;
/** Waiting threads sleep instead of being woken: waking them would cost the holder more than a decision. */
const NAP_MS = 0.05;

/** Waits for another thread. Must not be used by planes on the same thread: they would wait for each other. */
const waitForThread: LockWait = (control, owner, turn) => {
  if (turn >= SPINS) Atomics.wait(control, LOCK, owner, NAP_MS);
};

/** How often the main thread tries before it gives up for this turn of the event loop. */
const MAIN_TURNS = SPINS + 40;

/**
 * Memory of all threads of a process, under one lock (docs/decisions/021-counters-in-shared-memory.md).
 *
 * The lock is one word: free, or the number of its holder + 1. A thread that finds it taken tries again, sleeping in between.
 * Writes inside `whole` go through the journal of their thread; leaving clears the journal, then frees the lock. When a thread
 * dies, the main thread calls `recover`.
 */
export class SharedMemory implements TableMemory {
  readonly isShared = true;
  readonly worker: number;
  /** The data that a worker opens its memory from. Complete once the main thread has made all tables. */
  readonly handover: MemoryHandover;
  readonly #control: Int32Array;
  readonly #journal: Journal;
  readonly #wait: LockWait;
  #depth = 0;

  /** Opens the memory in a worker, which must be the only one with this number. */
  constructor(handover: MemoryHandover, worker: number, wait: LockWait = waitForThread) {
    this.handover = handover;
    this.worker = worker;
    this.#control = new Int32Array(handover.control);
    this.#journal = new Journal(this.#control, worker);
    this.#wait = wait;
  }

  /** Makes the memory of a process with this many workers. For the main thread. `hashRoot`: as for `ownMemory`. */
  static create(
    workers: number,
    randomBytes: RandomBytes,
    wait?: LockWait,
    hashRoot = randomKey(randomBytes),
  ): SharedMemory {
    const threads = workers + 1;
    const control = new SharedArrayBuffer(bytesOf(LINE + threads * JOURNAL_WORDS));
    const secrets = { secret: new Uint8Array(randomKey(randomBytes)), hashRoot: new Uint8Array(hashRoot) };
    const handover = { threads, control, tables: new Map(), ...secrets };
    return new SharedMemory(handover, MAIN_THREAD, wait);
  }

  get threads(): number {
    return this.handover.threads;
  }

  words(name: string, count: number): Words {
    const { tables } = this.handover;
    let buffer = tables.get(name);
    if (buffer === undefined) {
      if (this.worker !== MAIN_THREAD) throw new Error(`the main thread has not made the table "${name}"`);
      buffer = new SharedArrayBuffer(bytesOf(count));
      tables.set(name, buffer);
    }
    if (buffer.byteLength !== bytesOf(count)) throw new Error(`the table "${name}" has another size`);
    return new Words(buffer, this.#journal, [...tables.keys()].indexOf(name));
  }

  whole<T>(run: () => T): T {
    if (this.#depth > 0) return run();
    for (let turn = 0; !this.#take(turn); turn++) {
      if (this.worker === MAIN_THREAD && turn >= MAIN_TURNS)
        throw new Error('shared memory is taken: the main thread must not wait');
      this.#wait(this.#control, Atomics.load(this.#control, LOCK), turn);
    }
    return this.#runInside(run);
  }

  async soon<T>(run: () => T): Promise<T> {
    while (this.#depth === 0 && !this.#take()) await new Promise<void>(inNextTurn);
    return this.#runInside(run);
  }

  keep(): void {
    if (this.#depth === 1) this.#journal.keep();
  }

  secret(name: string, bytes: number): Buffer {
    return derivedKey(this.handover.secret, name, bytes);
  }

  hashKey(name: string, bytes: number): Buffer {
    return derivedKey(this.handover.hashRoot, name, bytes);
  }

  /**
   * Called when a worker has died: undoes its incomplete change, and frees the lock if it held it. For the main thread, after the
   * worker has ended.
   */
  recover(worker: number): void {
    if (Atomics.load(this.#control, LOCK) !== worker + 1) return;
    this.#undo(new Journal(this.#control, worker));
    Atomics.store(this.#control, LOCK, FREE);
  }

  /**
   * Tries to take the lock. `turn`: 0 for the first try, which usually succeeds; later ones read it first, and write only if it is
   * free.
   */
  #take(turn = 0): boolean {
    if (turn > 0 && Atomics.load(this.#control, LOCK) !== FREE) return false;
    return Atomics.compareExchange(this.#control, LOCK, FREE, this.worker + 1) === FREE;
  }

  #runInside<T>(run: () => T): T {
    if (this.#depth++ === 0) this.#journal.open();
    try {
      return run();
    } catch (error) {
      if (this.#depth === 1) this.#undo(this.#journal);
      throw error;
    } finally {
      if (--this.#depth === 0) {
        this.#journal.close();
        Atomics.store(this.#control, LOCK, FREE);
      }
    }
  }

  #undo(journal: Journal): void {
    const tables = [...this.handover.tables.values()].map(buffer => new Int32Array(buffer));
    journal.undo(table => tables[table] ?? new Int32Array());
  }
}
