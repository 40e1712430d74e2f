import type { UpstreamOptions } from '../options.ts';

/** Subtracted from a server's keep-alive time: its close and our next request could cross. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** How long a connection may live, and how long it may be idle. */
export class Lifetime {
  readonly #options: UpstreamOptions;
  readonly #maxAgeMs: number;
  #idleMs: number;
  #bornAtMs: number;
  #isTooOld = false;

  /** `chance`, 0 up to 1, takes up to a fifth off the maximum age, so that a burst does not close all at once. */
  constructor(options: UpstreamOptions, chance: number, nowMs: number) {
    this.#options = options;
    this.#maxAgeMs = options.maxAgeMs * (1 - chance / 5);
    this.#idleMs = options.keepAliveMs;
    this.#bornAtMs = nowMs;
  }

  /** Whether another request may follow. */
  get hasTimeLeft(): boolean {
    return this.#idleMs > 0 && !this.#isTooOld;
  }

  /** The connection is established: its age counts from now. */
  begin(nowMs: number): void {
    this.#bornAtMs = nowMs;
  }

  /** Notes how long the server keeps the connection, in milliseconds; null: it did not say. */
  serverKeeps(keepAliveMs: number | null): void {
    if (keepAliveMs !== null)
      this.#idleMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, this.#options.maxAgeMs);
  }

  /** Notes the connection's age. Call at each sweep. */
  age(nowMs: number): void {
    this.#isTooOld = nowMs - this.#bornAtMs > this.#maxAgeMs;
  }

  /** Whether to close a connection that has been idle for `idleMs`. */
  isOverAfter(idleMs: number): boolean {
    return idleMs >= this.#idleMs || this.#isTooOld;
  }
}
