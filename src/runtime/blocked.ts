import type { Listed } from '../config/index.ts';
import { TwoGenerations } from '../core/index.ts';
import { addressOfKey } from '../http/index.ts';

/** Addresses remembered: looking one up takes a step for each network listed. */
const MAX_ADDRESSES = 20_000;

/** Who is refused for as long as limits.yaml lists them. What is also under `never_restrict` is not. */
export class Blocked {
  readonly #blocked: Listed;
  readonly #spared: Listed;
  readonly #known = new TwoGenerations<boolean>(MAX_ADDRESSES);

  constructor(blocked: Listed, spared: Listed) {
    this.#blocked = blocked;
    this.#spared = spared;
  }

  /** `key`: of the address. */
  hasAddress(key: string): boolean {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const address = addressOfKey(key);
    const found = this.#blocked.addresses.has(address) && !this.#spared.addresses.has(address);
    this.#known.set(key, found);
    return found;
  }

  hasCaller(principal: string): boolean {
    return this.#blocked.callers.has(principal) && !this.#spared.callers.has(principal);
  }
}
