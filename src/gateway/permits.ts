/** Counts what is in flight under each key, up to a cap. Holds only keys in use. */
export class Permits {
  readonly #inFlight = new Map<string, number>();

  /** False: `cap` are in flight under this key already. */
  take(key: string, cap: number): boolean {
    const count = this.#inFlight.get(key) ?? 0;
    if (count >= cap) return false;
    this.#inFlight.set(key, count + 1);
    return true;
  }

  giveBack(key: string): void {
    const count = this.#inFlight.get(key) ?? 0;
    if (count <= 1) this.#inFlight.delete(key);
    else this.#inFlight.set(key, count - 1);
  }
}
