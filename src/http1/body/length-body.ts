import { type BodyDecoder, NO_FIELDS, type PieceTaker } from './body-decoder.ts';

/** A body of a known number of bytes (RFC 9112, 6.2). */
export class LengthBody implements BodyDecoder {
  readonly trailers = NO_FIELDS;
  #left: number;
  readonly #take: PieceTaker;

  constructor(length: number, take: PieceTaker) {
    this.#left = length;
    this.#take = take;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    const to = Math.min(end, at + this.#left);
    this.#left -= to - at;
    if (to > at) this.#take(bytes, at, to);
    return to;
  }
}
