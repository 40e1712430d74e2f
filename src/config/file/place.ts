/** A position in a file. Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** An error in one file, without the file's name. The message repeats no value, since any value may be a secret. */
export interface PlacedError extends Position {
  readonly message: string;
}
