/** A head shorter than this costs little to read, so that its faults are found as soon as they are there. */
const SHORT_BYTES = 1_024;
const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Decides when a head that comes in pieces is read again, which begins at its first byte: when it may be complete, or is
 * twice as long as the last time. If it were read with each piece, one byte of a client could cost a look at a megabyte.
 */
export class HeadPieces {
  /** Bytes of the head when it was last read and not complete. */
  #bytes = 0;

  /** Whether the head has another answer now. `most`: a head that is as long is too long. */
  worthReading(bytes: Buffer, most: number): boolean {
    const { length } = bytes;
    if (length < SHORT_BYTES || length >= 2 * this.#bytes || length >= most) return true;
    return bytes.indexOf(HEAD_END, Math.max(0, this.#bytes - HEAD_END.length)) >= 0;
  }

  /** It was read and is not complete. */
  incomplete(bytes: number): void {
    this.#bytes = bytes;
  }

  /** The next head is another one. */
  complete(): void {
    this.#bytes = 0;
  }
}
