import type { LendingBytes, Release } from '../core/index.ts';

/**
 * Bytes of a slab: what one read can bring at most. An answer of 64 KiB and its head come in one read and leave in one
 * write; and memory of this size goes back to the system when it is freed.
 */
export const SLAB_BYTES = 131_072;

/**
 * Memory that a connection reads into. Pieces of a body are handed on as views of it, without a copy; the slab is filled
 * again only when all of them have been taken.
 */
export class Slab implements LendingBytes {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  readonly #store: SlabStore;
  /** Views whose bytes are still needed. */
  #lent = 0;
  /** A connection reads into it. */
  #held = true;

  constructor(store: SlabStore) {
    this.#store = store;
  }

  get lent(): boolean {
    return this.#lent > 0;
  }

  /** A view that must be given back by `release`. */
  lend(from: number, to: number): Buffer {
    this.#lent++;
    return this.bytes.subarray(from, to);
  }

  /**
   * Takes a view back. After a failed write it is not: the collector gets the slab when nobody knows it any more, and
   * needs no proof that nobody reads its bytes.
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

  /** The connection reads into another one from now on. */
  letGo(): void {
    this.#held = false;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#lent === 0 && !this.#held) this.#store.giveBack(this);
  }
}

/** Slabs that nobody uses at the moment. It holds no more of them than were needed since the last `trim`. */
export class SlabStore {
  readonly #free: Slab[] = [];
  /** The fewest that were free since the last trim: so many were not needed. */
  #leastFree = 0;

  get size(): number {
    return this.#free.length;
  }

  take(): Slab {
    const slab = this.#free.pop();
    if (this.#free.length < this.#leastFree) this.#leastFree = this.#free.length;
    return slab === undefined ? new Slab(this) : slab.hold();
  }

  giveBack(slab: Slab): void {
    this.#free.push(slab);
  }

  /** Lets go of what was not needed since the last time. */
  trim(): void {
    this.#free.splice(0, this.#leastFree);
    this.#leastFree = this.#free.length;
  }
}
