/** One address takes at most this part of the token requests that may be on their way. */
const SHARE = 1 / 4;

/**
 * Counts token requests on their way, in all and for each address, so that a client whose codes take the provider long does
 * not keep everybody else from signing in.
 */
export class InFlight {
  readonly #most: number;
  readonly #maxOfOne: number;
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  /** @param most in all, at least 1 */
  constructor(most: number) {
    this.#most = most;
    this.#maxOfOne = Math.max(1, Math.floor(most * SHARE));
  }

  /** False: no room, in all or for this address. */
  take(address: string): boolean {
    const count = this.#byAddress.get(address) ?? 0;
    if (this.#all >= this.#most || count >= this.#maxOfOne) return false;
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
