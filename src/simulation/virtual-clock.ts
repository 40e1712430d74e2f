import type { Clock } from '../core/index.ts';

/** A clock that stands still until it is set. Both hands show the same time, in milliseconds since the epoch. */
export class VirtualClock implements Clock {
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  epochMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Goes on to this moment; stays where it is if that has passed. */
  reach(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs;
  }
}
