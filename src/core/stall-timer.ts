/** A wait that no sweep has seen yet. */
const NOT_SEEN = -1;

/** Measures how long a wait has lasted, from the first sweep that sees it, so that requests never read the clock. */
export class StallTimer {
  #sinceMs = NOT_SEEN;

  /** Another wait begins. */
  begin(): void {
    this.#sinceMs = NOT_SEEN;
  }

  /** Milliseconds since the wait began, or something last moved. Ask at each sweep, and only then. */
  waitedMs(nowMs: number, moved: boolean): number {
    if (moved || this.#sinceMs === NOT_SEEN) this.#sinceMs = nowMs;
    return nowMs - this.#sinceMs;
  }
}
