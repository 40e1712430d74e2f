import type { YAMLError } from 'yaml';

/** A position in a file. Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** An error in one file, without the file's name. The message repeats no value, since any value may be a secret. */
export interface PlacedError extends Position {
  readonly message: string;
}

/** An error of the YAML parser, with what is needed to explain it. */
export interface Broken {
  readonly error: YAMLError;
  readonly text: string;
  readonly lines: readonly string[];
  /** Where the parser stopped. */
  readonly at: Position;
  readonly line: string;
  placeOf(offset: number): Position;
  /** Where the quoted text, the list or the map in brackets begins that should have ended at `offset`. */
  openedAt(offset: number): number | null;
}

/** An explanation for the operator. Repeats none of the text except single marks, since any line may contain a secret. */
export interface YamlExplanation extends PlacedError {
  /** Whether the parser's errors about the rest of the file would be misleading. */
  readonly outOfStep?: boolean;
}
