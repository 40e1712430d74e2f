/** A position in a file. Line and column count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A mistake in one file, without the file's name. The message repeats no value, since any value may be a secret. */
export interface PlacedMistake extends Place {
  readonly message: string;
}
