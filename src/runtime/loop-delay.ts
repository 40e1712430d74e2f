/** A mean is taken over at least so long, and over so many turns of the event loop. */
const WINDOW_MS = 1_000;
const MIN_TURNS = 3;

/**
 * How late the event loop is on the average of the last second. The longest delay of a second does not count: one stall, such as
 * that of a reload or a garbage collection, says nothing about load.
 */
export class LoopDelay {
  #beganAtMs: number;
  #turns = 0;
  #sumMs = 0;
  #longestMs = 0;

  constructor(nowMs: number) {
    this.#beganAtMs = nowMs;
  }

  /** Takes in one delay. Returns the mean at the end of each window, and null before. */
  note(delayMs: number, nowMs: number): number | null {
    this.#turns++;
    this.#sumMs += delayMs;
    this.#longestMs = Math.max(this.#longestMs, delayMs);
    if (nowMs - this.#beganAtMs < WINDOW_MS || this.#turns < MIN_TURNS) return null;
    const mean = (this.#sumMs - this.#longestMs) / (this.#turns - 1);
    this.#beganAtMs = nowMs;
    this.#turns = 0;
    this.#sumMs = 0;
    this.#longestMs = 0;
    return mean;
  }
}
