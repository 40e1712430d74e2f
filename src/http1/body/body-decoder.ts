import type { Fields } from '../../core/index.ts';

/** Takes the pieces of a body as they are found: `bytes` from `from` up to `to`. */
export type PieceTaker = (bytes: Uint8Array, from: number, to: number) => void;

/** Finds the body in the bytes that follow a head. */
export interface BodyDecoder {
  /** The body is complete. */
  readonly done: boolean;
  /** The fields after the body. */
  readonly trailers: Fields;
  /**
   * Takes the body's bytes from `at` up to `end`. Returns the position after them: `end`, unless the body is done. Throws
   * MalformedMessage.
   */
  decode(bytes: Uint8Array, at: number, end: number): number;
}

export const NO_FIELDS: Fields = [];
