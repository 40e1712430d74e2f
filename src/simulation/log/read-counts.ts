/** What was read so far. */
export interface ReadCounts {
  lines: number;
  /** About something else than a decision. */
  other: number;
  broken: number;
  /** Requests refused with 429 before the limits were asked: by a restriction, or as blocked. */
  early: number;
  /** The size of the files as they lie on disk. */
  bytes: number;
  /** Files that could not be read to their end, and why. */
  readonly torn: string[];
}

export function newReadCounts(): ReadCounts {
  return { lines: 0, other: 0, broken: 0, early: 0, bytes: 0, torn: [] };
}
