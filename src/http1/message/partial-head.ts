/** Reading a shorter head costs little, so its faults are found at once. */
const SHORT_BYTES = 1_024;
const SECTION_END = Buffer.from('\r\n\r\n');

/** The position after the first empty line from `at` on, or `end` without an empty line before it. */
export function sectionEnd(bytes: Buffer, at: number, end: number): number {
  const found = bytes.indexOf(SECTION_END, at);
  return found < 0 ? end : Math.min(end, found + SECTION_END.length);
}

/**
 * Decides when to parse a head or trailer section again that arrives in pieces, since each parse begins at its first byte: when
 * it may be complete, or has doubled in length. Parsing on each piece would let one byte cost a pass over a megabyte.
 */
export class PartialHead {
  /** Bytes of the head when it was last read. */
  #bytes = 0;
  /** Bytes of it that were searched for its end. */
  #searched = 0;

  /** Whether parsing these bytes may give a new result. A head of `maxBytes` without an end does: it is too long. */
  worthReading(bytes: Buffer, maxBytes: number): boolean {
    const { length } = bytes;
    if (length < SHORT_BYTES || length >= 2 * this.#bytes || length >= maxBytes) return true;
    const from = Math.max(0, this.#searched - SECTION_END.length);
    this.#searched = length;
    return bytes.indexOf(SECTION_END, from) >= 0;
  }

  /** The head was read and is not complete. */
  incomplete(bytes: number): void {
    this.#bytes = bytes;
    this.#searched = bytes;
  }

  /** The head is complete: the next bytes begin another. */
  complete(): void {
    this.#bytes = 0;
    this.#searched = 0;
  }
}
