import type { Fields } from '../../core/index.ts';

/** Takes the pieces of a body as they are found: `bytes` from `from` up to `to`. */
export type PieceTaker = (bytes: Uint8Array, from: number, to: number) => void;

/** Finds the body in the bytes that follow a head. */
export interface BodyDecoder {
  /** True once the body is complete. */
  readonly done: boolean;
  /** The fields after the body. */
  readonly trailers: Fields;
  /**
   * Reads the body's bytes from `at` up to `end`. Returns the position after them: `end`, unless the body is done. Throws
   * MalformedMessage.
   */
  decode(bytes: Uint8Array, at: number, end: number): number;
}

export const NO_FIELDS: Fields = [];

/** Limits on how a request's body is sent. */
export interface BodyTerms {
  /** Largest body on the wire, chunk framing included; `null` for no limit. */
  readonly maxBytes: number | null;
  /** Fewest bytes a second, averaged over the time in which the body was read, once that is 30 s; `null` for no limit. */
  readonly minBytesPerS: number | null;
  /** Longest time that reading it may take; `null` for no limit. */
  readonly deadlineMs: number | null;
}

export const NO_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: null };

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

/** Up to this many bytes are moved one by one, which is cheaper than a call. */
const FEW_BYTES = 32;

/**
 * Joins the data of all chunks in one read, overwriting the framing between them. A chunk may hold a single byte: passed on one
 * by one, every six bytes from a sender would cost a write.
 */
export class JoinedPieces {
  /** Where the joined data begins in the present bytes; `to` is where it ends. */
  from = 0;
  to = 0;

  get isEmpty(): boolean {
    return this.to === this.from;
  }

  /** Starts with other bytes. */
  reset(): void {
    this.from = 0;
    this.to = 0;
  }

  /** Adds the bytes from `from` up to `to`, which come after those already found. */
  add(bytes: Uint8Array, from: number, to: number): void {
    if (this.isEmpty) {
      this.from = from;
      this.to = to;
      return;
    }
    const length = to - from;
    if (length > FEW_BYTES) bytes.copyWithin(this.to, from, to);
    else for (let i = 0; i < length; i++) bytes[this.to + i] = bytes[from + i] as number;
    this.to += length;
  }
}
