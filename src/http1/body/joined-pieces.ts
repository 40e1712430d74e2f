/** Up to this many bytes are moved one by one, which is cheaper than a call. */
const FEW_BYTES = 32;

/**
 * Joins the data of all chunks in one read, overwriting the framing between them. A chunk may hold a single byte: passed on one
 * by one, every six bytes from a sender would cost a write.
 */
export class JoinedPieces {
  /** Where the joined data begins and ends in the bytes at hand. */
  from = 0;
  to = 0;

  get isEmpty(): boolean {
    return this.to === this.from;
  }

  /** Begins with other bytes. */
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
