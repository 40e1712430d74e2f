/** The share of the requests in flight that one address may hold. */
const SHARE = 1 / 4;

/**
 * Counts requests to the provider in flight, in all and per address, so that one client with slow requests cannot stop everyone
 * else from signing in.
 */
export class InFlight {
  readonly #max: number;
  readonly #maxOfOne: number;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  /** @param max the maximum in all, at least 1 */
  constructor(max: number) {
    this.#max = max;
    this.#maxOfOne = Math.max(1, Math.floor(max * SHARE));
  }

  /** Counts one more request and returns true, unless there is no room, in all or for this address. */
  take(address: string): boolean {
    const count = this.#byAddress.get(address) ?? 0;
    if (this.#all >= this.#max || count >= this.#maxOfOne) return false;
    this.#all += 1;
    this.#byAddress.set(address, count + 1);
    return true;
  }

  giveBack(address: string): void {
    const count = this.#byAddress.get(address) ?? 0;
    this.#all -= 1;
    if (count <= 1) this.#byAddress.delete(address);
    else this.#byAddress.set(address, count - 1);
  }
}
