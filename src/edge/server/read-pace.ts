/** How fast a client has to read what is waiting for it. */
export interface ReadTerms {
  /** The longest time without any read. The rate below is averaged over the same time. */
  readonly clientReadMs: number;
  /** Minimum bytes per second on average; `null` for no minimum. */
  readonly minBytesPerS: number | null;
}

/** How much a client had taken at some time. */
interface Mark {
  atMs: number;
  bytes: number;
}

/** The averaged time has this many parts. A late client is detected at most one part later. */
export const PARTS = 8;
/** If sweeps are further apart than this, the process was suspended, and could not write in between. */
const STILL_MS = 5_000;

/**
 * Measures how fast a client reads what is waiting for it: bytes written that it has not read. With nothing waiting, silence is
 * no delay, so call `rest` then. Only sweeps measure.
 */
export class ReadPace {
  /** One for each part, oldest first; none while nothing is waiting. */
  #marks: Mark[] = [];
  #bytes = 0;
  #movedAtMs = 0;
  #sweptAtMs = 0;
  #isLate = false;

  /** True once a sweep found bytes waiting for the client. */
  get isMeasured(): boolean {
    return this.#marks.length > 0;
  }

  rest(): void {
    if (this.#marks.length > 0) this.#marks = [];
    this.#isLate = false;
  }

  /**
   * Whether the client is too slow. True only at the second sweep in a row: a process that was suspended first writes what its
   * clients have long had room for. Call it at every sweep while something is waiting. Time without sweeps does not count.
   *
   * @param bytes the bytes that the client has taken so far; may only grow, except by `recount`
   */
  isTooSlow(nowMs: number, bytes: number, terms: ReadTerms): boolean {
    this.#pass(nowMs - this.#sweptAtMs);
    this.#sweptAtMs = nowMs;
    if (!this.isMeasured || bytes > this.#bytes) this.#movedAtMs = nowMs;
    this.#bytes = bytes;
    this.#mark(nowMs, terms.clientReadMs);
    const wasLate = this.#isLate;
    this.#isLate = this.stalledMs(nowMs) > terms.clientReadMs || this.#isBelow(nowMs, terms);
    return wasLate && this.#isLate;
  }

  stalledMs(nowMs: number): number {
    return this.isMeasured ? nowMs - this.#movedAtMs : 0;
  }

  /** Replaces the count with another count of the same bytes, such as the kernel's. */
  recount(bytes: number): void {
    const change = bytes - this.#bytes;
    this.#bytes = bytes;
    for (const mark of this.#marks) mark.bytes += change;
  }

  /** Shifts the marks by the time in which the process was suspended, if it was. */
  #pass(ms: number): void {
    if (ms < STILL_MS) return;
    this.#movedAtMs += ms;
    for (const mark of this.#marks) mark.atMs += ms;
  }

  #mark(nowMs: number, clientReadMs: number): void {
    const marks = this.#marks;
    const last = marks.at(-1);
    if (last === undefined || nowMs - last.atMs >= clientReadMs / PARTS)
      marks.push({ atMs: nowMs, bytes: this.#bytes });
    // Keep one mark as old as the averaged time.
    while (marks[1] !== undefined && nowMs - marks[1].atMs >= clientReadMs) marks.shift();
  }

  #isBelow(nowMs: number, { clientReadMs, minBytesPerS }: ReadTerms): boolean {
    const oldest = this.#marks[0];
    if (minBytesPerS === null || oldest === undefined) return false;
    const ms = nowMs - oldest.atMs;
    return ms >= clientReadMs && (this.#bytes - oldest.bytes) * 1_000 < minBytesPerS * ms;
  }
}
