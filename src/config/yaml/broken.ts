import type { YAMLError } from 'yaml';

import type { Place, PlacedMistake } from './place.ts';

/** An error of the YAML parser, and what it takes to say it in other words. */
export interface Broken {
  readonly error: YAMLError;
  readonly text: string;
  readonly lines: readonly string[];
  /** Where the parser stopped. */
  readonly at: Place;
  /** The line there. */
  readonly line: string;
  placeOf(offset: number): Place;
  /** Where the quoted text begins that should have ended at an offset. */
  quoteAt(offset: number): number | null;
}

/** What is wrong in other words. Nothing of the text is repeated but single marks, since any line may hold a secret. */
export interface Explanation extends PlacedMistake {
  /** What the parser says of the rest of the file would mislead. */
  readonly outOfStep?: boolean;
}

export const UNREADABLE =
  'from here on this cannot be read: is a quote, an indent, or the space after a ":" or "-" missing?';
