/** How much a client had taken at some time. */
interface Mark {
  atMs: number;
  bytes: number;
}

/**
 * How fast a client reads while something is held for it. Averaged over the last times at which it took something, so that a client
 * whose kernel takes large pieces now and then is not mistaken for one that does not read. Time in which nothing is held does not
 * count.
 */
export class ReadingRate {
  #older: Mark | null = null;
  #newer: Mark | null = null;
  /** When the last held byte was sent; `null` while something is held. */
  #restedAtMs: number | null = null;

  rest(nowMs: number): void {
    this.#restedAtMs ??= nowMs;
  }

  /** Continues with another count of the same bytes, which is larger by `change`. */
  recount(change: number): void {
    if (this.#newer === null || this.#older === null) return;
    this.#newer.bytes += change;
    if (this.#older !== this.#newer) this.#older.bytes += change;
  }

  /**
   * Returns bytes per second; `null` until one complete part was measured. Call it at every sweep while something is held.
   *
   * @param bytes the bytes that the client has taken so far
   * @param partMs how long a client may take nothing before it counts as not reading
   */
  at(nowMs: number, bytes: number, partMs: number): number | null {
    const newer = this.#newer ?? { atMs: nowMs, bytes };
    const older = this.#older ?? newer;
    this.#leaveOutRest(nowMs, older, newer);
    if (nowMs - newer.atMs >= partMs && bytes > newer.bytes) {
      this.#older = newer;
      this.#newer = { atMs: nowMs, bytes };
    } else {
      this.#older = older;
      this.#newer = newer;
    }
    const ms = nowMs - this.#older.atMs;
    return ms < partMs ? null : ((bytes - this.#older.bytes) * 1_000) / ms;
  }

  #leaveOutRest(nowMs: number, older: Mark, newer: Mark): void {
    if (this.#restedAtMs === null) return;
    const restedMs = nowMs - Math.max(this.#restedAtMs, newer.atMs);
    this.#restedAtMs = null;
    newer.atMs += restedMs;
    if (older !== newer) older.atMs += restedMs;
  }
}
