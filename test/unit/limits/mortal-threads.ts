import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import { type Clock, SharedMemory, type TableMemory, Words } from '../../../src/core/index.ts';
import { InFlight, MemoryStore, type MemoryStoreOptions } from '../../../src/limits/index.ts';

/** The first word of the control part: the other that a thread stores to is the count of its journal. */
const LOCK = 0;

/** What ends a thread in the middle of what it does. */
class ThreadDied extends Error {}

/** The threads of a test run one after the other: one that found the lock taken would wait forever. */
export class LockTaken extends Error {}

function neverWait(): never {
  throw new LockTaken();
}

/**
 * The memory of one thread that may die at any step: before each write, between its note in the journal and itself, and before and
 * after each of the two steps by which it leaves. Dead, it leaves all shared memory as it is at that moment.
 */
export class MortalMemory implements TableMemory {
  readonly isShared = true;
  readonly #memory: SharedMemory;
  readonly #copiedBytes: number;
  #stepsLeft = Number.POSITIVE_INFINITY;
  /** Whether the step by which its change stays has been done: it empties the journal at the end, not in between. */
  hasKept = false;
  #isAtEnd = true;
  #left: (() => void) | null = null;

  constructor(memory: SharedMemory, copiedBytes: number) {
    this.#memory = memory;
    this.#copiedBytes = copiedBytes;
  }

  get worker(): number {
    return this.#memory.worker;
  }

  get threads(): number {
    return this.#memory.threads;
  }

  /** Runs something and dies after so many steps. Returns whether it has died; if not, it has done all. */
  dieAfter(steps: number, run: () => void): boolean {
    this.#stepsLeft = steps;
    const { store } = Atomics;
    const leaving = vi.spyOn(Atomics, 'store').mockImplementation((...asked) => {
      this.step();
      store(...asked);
      if (asked[1] !== LOCK && this.#isAtEnd && this.#left === null) this.hasKept = true;
      this.step();
      return asked[2];
    });
    try {
      run();
      return false;
    } catch (error) {
      if (!(error instanceof ThreadDied)) throw error;
      return true;
    } finally {
      leaving.mockRestore();
      this.#stepsLeft = Number.POSITIVE_INFINITY;
      // The ways of an exception are not those of a death: nothing of it counts.
      this.#left?.();
    }
  }

  step(): void {
    if (this.#left !== null || this.#stepsLeft-- > 0) return;
    this.#left = copyOfAll(this.#memory, this.#copiedBytes);
    throw new ThreadDied();
  }

  words(name: string, count: number): Words {
    return new MortalWords(this.#memory.words(name, count), this);
  }

  whole<T>(run: () => T): T {
    return this.#memory.whole(() => {
      this.step();
      return run();
    });
  }

  soon<T>(run: () => T): Promise<T> {
    return this.#memory.soon(run);
  }

  keep(): void {
    this.#isAtEnd = false;
    this.#memory.keep();
    this.#isAtEnd = true;
  }

  secret(name: string, bytes: number): Buffer {
    return this.#memory.secret(name, bytes);
  }

  hashKey(name: string, bytes: number): Buffer {
    return this.#memory.hashKey(name, bytes);
  }
}

class MortalWords extends Words {
  readonly #words: Words;
  readonly #memory: MortalMemory;

  constructor(words: Words, memory: MortalMemory) {
    super(words.ints.buffer);
    this.#words = words;
    this.#memory = memory;
  }

  override set(at: number, value: number): void {
    const old = this.ints[at] ?? 0;
    this.#memory.step();
    this.#words.set(at, value);
    const written = this.ints[at] ?? 0;
    this.ints[at] = old;
    this.#memory.step();
    this.ints[at] = written;
  }

  override setFloat(at: number, value: number): void {
    const old = this.floats[at] ?? 0;
    this.#memory.step();
    this.#words.setFloat(at, value);
    this.floats[at] = old;
    this.#memory.step();
    this.floats[at] = value;
  }
}

const LINE_BYTES = 128;

/**
 * Copies what lies in shared memory. Returns what puts it back.
 *
 * @param most bytes of each table: a test that uses a few records needs no more, and what lies behind is untouched. Of an index, all:
 * its entries lie anywhere
 */
export function copyOfAll({ handover, threads }: SharedMemory, most = Number.POSITIVE_INFINITY): () => void {
  const { control, tables } = handover;
  const journalBytes = (control.byteLength - LINE_BYTES) / threads;
  const starts = Array.from({ length: threads }, (_, thread) => LINE_BYTES + thread * journalBytes);
  const parts = [
    new Uint8Array(control, 0, LINE_BYTES),
    ...starts.map(start => new Uint8Array(control, start, Math.min(journalBytes, most))),
    ...Array.from(tables.values(), part => new Uint8Array(part, 0, Math.min(part.byteLength, most))),
  ];
  const copies = parts.map(part => part.slice());
  return () => {
    for (const [i, part] of parts.entries()) part.set(copies[i] ?? []);
  };
}

/** The stores of several threads that share their counters, run by one thread. */
export class MortalThreads {
  readonly main: SharedMemory;
  readonly mainStore: MemoryStore;
  readonly #options: Omit<MemoryStoreOptions, 'randomBytes' | 'memory'>;
  readonly #memories: MortalMemory[] = [];
  readonly stores: MemoryStore[] = [];
  readonly #copiedBytes: number;

  /** @param copiedBytes how much of each table is copied at a death (`copyOfAll`) */
  constructor(
    threads: number,
    options: Pick<MemoryStoreOptions, 'maxKeyspaces'> & { readonly clock: Clock; readonly maxKeys: number },
    copiedBytes = Number.POSITIVE_INFINITY,
  ) {
    this.#copiedBytes = copiedBytes;
    this.#options = { inFlight: new InFlight(), ...options };
    this.main = SharedMemory.create(threads, randomBytes, neverWait);
    this.mainStore = new MemoryStore({ ...this.#options, randomBytes, memory: this.main });
    for (let thread = 0; thread < threads; thread++) this.#begin(thread);
  }

  /** Thread `thread` does something and dies at this step of it. Returns null if it has not so many steps; else whether its change stays. */
  die(thread: number, step: number, run: (store: MemoryStore) => void): { readonly stays: boolean } | null {
    const memory = this.#memories[thread];
    const store = this.stores[thread];
    if (memory === undefined || store === undefined) throw new Error('no such thread');
    memory.hasKept = false;
    return memory.dieAfter(step, () => run(store)) ? { stays: memory.hasKept } : null;
  }

  /** The main thread has heard of the death, and another thread takes the place of the dead one. */
  replace(thread: number): void {
    this.main.recover(thread + 1);
    this.#begin(thread);
  }

  #begin(thread: number): void {
    const shared = new SharedMemory(structuredClone(this.main.handover), thread + 1, neverWait);
    const memory = new MortalMemory(shared, this.#copiedBytes);
    this.#memories[thread] = memory;
    this.stores[thread] = new MemoryStore({ ...this.#options, randomBytes, memory });
  }
}
