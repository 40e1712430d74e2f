/** The value of `Date` on answers (RFC 9110, 6.6.1), made once a second rather than for each response. */
export class DateField {
  #second = Number.NaN;
  #text = '';

  at(epochMs: number): string {
    const second = Math.floor(epochMs / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1_000).toUTCString();
    }
    return this.#text;
  }
}
