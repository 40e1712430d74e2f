/** Fewer bytes are moved one by one, which is cheaper than a call that moves them all. */
const FEW_BYTES = 32;

/**
 * Moves the data of all chunks that one read brought together, over what framed them: a chunk may hold a single byte, and if each
 * went on by itself, its sender could have a write of ours for six bytes of its own.
 */
export class JoinedPieces {
  /** Where in the bytes at hand that stands which has been found. */
  from = 0;
  to = 0;

  get isEmpty(): boolean {
    return this.to === this.from;
  }

  /** Other bytes are at hand. */
  reset(): void {
    this.from = 0;
    this.to = 0;
  }

  /** Takes the bytes from `from` up to `to`, which stand behind those that were found. */
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
