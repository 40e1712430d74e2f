/** A head shorter than this costs little to read, so that its faults are found as soon as they are there. */
const SHORT_BYTES = 1_024;
const SECTION_END = Buffer.from('\r\n\r\n');

/**
 * Decides when a head or trailer section that comes in pieces is read again, which begins at its first byte: when it may be
 * complete, or is twice as long as the last time. If it were read with each piece, one byte could cost a look at a megabyte.
 */
export class PartialHead {
  /** Bytes of the head when it was last read and not complete. */
  #bytes = 0;
  /** Among so many its end was looked for. */
  #searched = 0;

  /** Whether the head has another answer now. `most`: a head that is as long is too long. */
  worthReading(bytes: Buffer, most: number): boolean {
    const { length } = bytes;
    if (length < SHORT_BYTES || length >= 2 * this.#bytes || length >= most) return true;
    const from = Math.max(0, this.#searched - SECTION_END.length);
    this.#searched = length;
    return bytes.indexOf(SECTION_END, from) >= 0;
  }

  /** It was read and is not complete. */
  incomplete(bytes: number): void {
    this.#bytes = bytes;
    this.#searched = bytes;
  }

  /** The next head is another one. */
  complete(): void {
    this.#bytes = 0;
    this.#searched = 0;
  }
}
