import { type BodyDecoder, NO_FIELDS, type PieceTaker } from './body-decoder.ts';

/** A body that ends with the connection (RFC 9112, 6.3, rule 8): never done by itself. */
export class UntilCloseBody implements BodyDecoder {
  readonly done = false;
  readonly trailers = NO_FIELDS;
  readonly #take: PieceTaker;

  constructor(take: PieceTaker) {
    this.#take = take;
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    if (end > at) this.#take(bytes, at, end);
    return end;
  }
}
