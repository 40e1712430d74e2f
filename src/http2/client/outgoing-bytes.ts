/** What was written to a stream and has not been sent. */
export class OutgoingBytes {
  readonly #pieces: Buffer[] = [];
  /** Bytes of the first piece that were sent. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  /** Takes bytes that lie together, at most `max`, which is above 0. Call it only if there are any. */
  take(max: number): Buffer {
    const first = this.#pieces[0] as Buffer;
    const bytes = first.subarray(this.#offset, this.#offset + max);
    this.#offset += bytes.length;
    this.#length -= bytes.length;
    if (this.#offset === first.length) {
      this.#pieces.shift();
      this.#offset = 0;
    }
    return bytes;
  }
}
