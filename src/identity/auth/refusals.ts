import { RecentMap } from '../../core/index.ts';
import type { CacheOptions } from './options.ts';
import type { Invalid } from './token/index.ts';

interface Refusal {
  readonly refusal: Invalid;
  readonly untilMs: number;
  readonly keySetVersion: number;
}

/**
 * Remembers for a short time tokens that failed their check, so that repeating one costs a lookup, not a signature check. Never
 * remembers a token that may become valid (its key is not known yet), and forgets everything when the key set changes.
 */
export class Refusals {
  readonly #refusedForMs: number;
  readonly #refusals: RecentMap<Refusal>;

  constructor(options: CacheOptions) {
    this.#refusedForMs = options.refusedForMs;
    this.#refusals = new RecentMap(options.maxRefused);
  }

  find(tokenHash: string, nowMs: number, keySetVersion: number): Invalid | null {
    const found = this.#refusals.get(tokenHash);
    if (found === undefined) return null;
    if (nowMs < found.untilMs && found.keySetVersion === keySetVersion) return found.refusal;
    this.#refusals.delete(tokenHash);
    return null;
  }

  forget(): void {
    this.#refusals.clear();
  }

  keep(tokenHash: string, refusal: Invalid, nowMs: number, keySetVersion: number): void {
    this.#refusals.set(tokenHash, { refusal, untilMs: nowMs + this.#refusedForMs, keySetVersion });
  }
}

/**
 * Makes room for one more entry in a map whose oldest entries expire first: drops the expired ones from the front and, when
 * that is not enough, the oldest.
 *
 * @returns how many entries were dropped before they expired
 */
export function makeRoom<V>(
  entries: Map<string, V>,
  maxEntries: number,
  isOver: (value: V) => boolean,
): number {
  let evicted = 0;
  for (const [key, value] of entries) {
    const over = isOver(value);
    if (!over && entries.size < maxEntries) break;
    entries.delete(key);
    if (!over) evicted += 1;
  }
  return evicted;
}
