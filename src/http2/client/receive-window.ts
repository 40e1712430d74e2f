/** How much the other side may send before we let it send more (RFC 9113, 6.9). */
export class ReceiveWindow {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Counts bytes that came. False: they are more than was allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** Opens the window again as soon as half of it is used. Returns by how much: 0 if it has to do for now. */
  reopen(): number {
    const used = this.#max - this.#left;
    if (used < this.#max / 2) return 0;
    this.#left = this.#max;
    return used;
  }
}
