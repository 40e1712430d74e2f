import type { TableMemory } from './collections.ts';

/** Numbers that go upwards by one. */
export interface Sequence {
  /** The highest so far; 0 at first. */
  readonly last: number;
  next(): number;
}

/** The numbers of one thread. */
export class OwnSequence implements Sequence {
  last = 0;

  next(): number {
    return ++this.last;
  }
}

const LOW = 0;
const HIGH = 1;

/**
 * Numbers that all threads of a process share. They are taken without the lock: that one number may be missing, or two come in the
 * wrong order as 2^32 is passed, does no harm.
 */
export class SharedSequence implements Sequence {
  readonly #ints: Int32Array;

  constructor(memory: TableMemory, name: string) {
    this.#ints = memory.words(name, 2).ints;
  }

  get last(): number {
    return this.#numberOf(Atomics.load(this.#ints, LOW));
  }

  next(): number {
    const low = (Atomics.add(this.#ints, LOW, 1) + 1) | 0;
    if (low === 0) Atomics.add(this.#ints, HIGH, 1);
    return this.#numberOf(low);
  }

  #numberOf(low: number): number {
    return (this.#ints[HIGH] ?? 0) * 2 ** 32 + (low >>> 0);
  }
}
