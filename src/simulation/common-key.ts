import { ReplayError } from './replay-error.ts';

/** Starts of gateways that are told apart. */
export const MAX_INSTANCES = 1_000;

/** Refuses logs in which the same caller has several names. */
export class CommonKey {
  readonly #seen = new Set<string>();
  #keyId = '';

  /** After a restart without a key file, the key may change; one that comes back is that of another gateway. */
  check(keyId: string): void {
    if (keyId === this.#keyId) return;
    if (this.#seen.has(keyId) || this.#seen.size >= MAX_INSTANCES) {
      throw new ReplayError(
        'these logs have no common pseudonym key: the same caller has another name in each, so its requests cannot be counted together. Replay each log alone, and give all gateways one log.pseudonym_key_file',
      );
    }
    this.#seen.add(keyId);
    this.#keyId = keyId;
  }
}
