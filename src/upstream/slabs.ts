import type { LendingBytes, Release } from '../core/index.ts';

/**
 * The size of a slab, which is the most that one read returns. A 64 KiB response with its head takes one read and one write, and
 * memory of this size goes back to the system when freed.
 */
export const SLAB_BYTES = 131_072;

/**
 * Memory that a connection reads into. Pieces of a body are lent out as views, without a copy; the slab is only filled again
 * once all of them are given back.
 */
export class Slab implements LendingBytes {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  readonly #store: SlabStore;
  /** How many views have not been given back yet. */
  #lent = 0;
  /** True while a connection reads into it. */
  #held = true;

  constructor(store: SlabStore) {
    this.#store = store;
  }

  get lent(): boolean {
    return this.#lent > 0;
  }

  keep(): void {
    this.#lent++;
  }

  /** Lends out a view. The borrower gives it back by `release`. */
  lend(from: number, to: number): Buffer {
    this.#lent++;
    return this.bytes.subarray(from, to);
  }

  /**
   * Takes a view back. After a failed write it stays lent: the slab is left to the garbage collector, since the socket may
   * still be reading it.
   */
  readonly release: Release = error => {
    if (error) return;
    this.#lent--;
    this.#giveBack();
  };

  hold(): this {
    this.#held = true;
    return this;
  }

  /** Gives the slab up: its connection reads into another one from now on. */
  letGo(): void {
    this.#held = false;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#lent === 0 && !this.#held) this.#store.giveBack(this);
  }
}

/** Keeps slabs that are not in use, no more than were needed since the last `trim`. */
export class SlabStore {
  readonly #free: Slab[] = [];
  /** The smallest number of free slabs since the last trim: this many were not needed. */
  #minFree = 0;

  get size(): number {
    return this.#free.length;
  }

  take(): Slab {
    const slab = this.#free.pop();
    if (this.#free.length < this.#minFree) this.#minFree = this.#free.length;
    return slab === undefined ? new Slab(this) : slab.hold();
  }

  /** Returns another slab in place of this one, parts of which are lent out. */
  replace(slab: Slab): Slab {
    const next = this.take();
    slab.letGo();
    return next;
  }

  giveBack(slab: Slab): void {
    this.#free.push(slab);
  }

  /** Frees the slabs that were not needed since the last trim. */
  trim(): void {
    this.#free.splice(0, this.#minFree);
    this.#minFree = this.#free.length;
  }
}
