/** How fast a client has to take what it is owed. */
export interface ReadTerms {
  /** How long it may take nothing at all. The average counts over the same time. */
  readonly clientReadMs: number;
  /** The fewest bytes a second on average; `null`: whatever it takes is enough. */
  readonly minBytesPerS: number | null;
}

/** How much a client had taken at a moment. */
interface Mark {
  atMs: number;
  bytes: number;
}

/** A part of the time over which the average counts. A client is found late by at most one part after it is. */
export const PARTS = 8;
/** Sweeps that are further apart than this had no chance to write in between: the process stood still. */
const STILL_MS = 5_000;

/**
 * Measures how fast a client takes what it is owed: bytes that were written and that it has not read. Silence with nothing owed is no
 * delay, so call `rest` then. Only sweeps measure.
 */
export class ReadPace {
  /** One for each part, the oldest first; none while nothing is owed. */
  #marks: Mark[] = [];
  #bytes = 0;
  #movedAtMs = 0;
  #sweptAtMs = 0;
  #isLate = false;

  /** Whether a sweep has found that something is owed. */
  get isMeasured(): boolean {
    return this.#marks.length > 0;
  }

  /** Nothing is owed any more. */
  rest(): void {
    if (this.#marks.length > 0) this.#marks = [];
    this.#isLate = false;
  }

  /**
   * Whether the client is too slow. True only at the second sweep that finds so: a process that was stopped writes between the two what
   * its clients have long made room for. Ask at each sweep while something is owed. Time without sweeps does not count.
   *
   * @param bytes how many bytes the client has taken so far; may only grow, but for `recount`
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

  /** How long the client has taken nothing. */
  stalledMs(nowMs: number): number {
    return this.isMeasured ? nowMs - this.#movedAtMs : 0;
  }

  /** Goes on with another count of the same bytes, which says `bytes` now. */
  recount(bytes: number): void {
    const change = bytes - this.#bytes;
    this.#bytes = bytes;
    for (const mark of this.#marks) mark.bytes += change;
  }

  /** Moves the marks on by the time in which the process stood still, if it did. */
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
    // Keep one mark that is as old as the average is long.
    while (marks[1] !== undefined && nowMs - marks[1].atMs >= clientReadMs) marks.shift();
  }

  #isBelow(nowMs: number, { clientReadMs, minBytesPerS }: ReadTerms): boolean {
    const oldest = this.#marks[0];
    if (minBytesPerS === null || oldest === undefined) return false;
    const ms = nowMs - oldest.atMs;
    return ms >= clientReadMs && (this.#bytes - oldest.bytes) * 1_000 < minBytesPerS * ms;
  }
}
