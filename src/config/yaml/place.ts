/** Where something is written; both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem within one file whose name the reader of the file adds. The message repeats no value, since any may be a secret. */
export interface PlacedMistake extends Place {
  readonly message: string;
}
