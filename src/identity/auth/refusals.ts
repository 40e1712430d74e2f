import { RecentMap } from '../../core/index.ts';
import type { CacheOptions } from './options.ts';
import type { Invalid } from './token/index.ts';

interface Refusal {
  readonly refusal: Invalid;
  readonly untilMs: number;
  readonly keySetVersion: number;
}

/**
 * Remembers for a short time tokens that failed their check, so that repeating one costs a lookup, not a signature check or a
 * question to the provider. A verifier adds no token that may become valid because its key is not known yet. Where keys matter, an
 * entry holds only for the version of the key set that it was made with.
 */
export class Refusals {
  readonly #refusedForMs: number;
  readonly #refusals: RecentMap<Refusal>;

  constructor(options: CacheOptions) {
    this.#refusedForMs = options.refusedForMs;
    this.#refusals = new RecentMap(options.maxRefused);
  }

  find(tokenHash: string, nowMs: number, keySetVersion = 0): Invalid | null {
    const found = this.#refusals.get(tokenHash);
    if (found === undefined) return null;
    if (nowMs < found.untilMs && found.keySetVersion === keySetVersion) return found.refusal;
    this.#refusals.delete(tokenHash);
    return null;
  }

  forget(): void {
    this.#refusals.clear();
  }

  keep(tokenHash: string, refusal: Invalid, nowMs: number, keySetVersion = 0): void {
    this.#refusals.set(tokenHash, { refusal, untilMs: nowMs + this.#refusedForMs, keySetVersion });
  }
}
