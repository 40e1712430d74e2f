import type { LendingBytes, Release } from '../core/index.ts';

/**
 * Size of a slab, and so the most that one read brings. A response of 64 KiB with its head comes in one read and leaves in
 * one write, and memory of this size returns to the system when it is freed.
 */
export const SLAB_BYTES = 131_072;

/**
 * Memory that a connection reads into. Pieces of a body are lent out as views, without a copy; the slab is filled again only
 * when all of them were given back.
 */
export class Slab implements LendingBytes {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  readonly #store: SlabStore;
  /** Views that were not given back yet. */
  #lent = 0;
  /** A connection reads into it. */
  #held = true;

  constructor(store: SlabStore) {
    this.#store = store;
  }

  get lent(): boolean {
    return this.#lent > 0;
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

  /** The connection reads into another slab from now on. */
  letGo(): void {
    this.#held = false;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#lent === 0 && !this.#held) this.#store.giveBack(this);
  }
}

/** Slabs not in use, no more of them than were needed since the last `trim`. */
export class SlabStore {
  readonly #free: Slab[] = [];
  /** The minimum that was free since the last trim: so many were not needed. */
  #minFree = 0;

  get size(): number {
    return this.#free.length;
  }

  take(): Slab {
    const slab = this.#free.pop();
    if (this.#free.length < this.#minFree) this.#minFree = this.#free.length;
    return slab === undefined ? new Slab(this) : slab.hold();
  }

  giveBack(slab: Slab): void {
    this.#free.push(slab);
  }

  /** Lets go of the slabs that were not needed since the last trim. */
  trim(): void {
    this.#free.splice(0, this.#minFree);
    this.#minFree = this.#free.length;
  }
}
