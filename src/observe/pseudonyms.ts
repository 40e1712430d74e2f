import { createHmac } from 'node:crypto';
import { ownString } from '../core/index.ts';

const DIGITS = 22;
/** Names kept for values that come again, twice: the current ones, and those of the generation before. */
const MOST_KEPT = 10_000;

/**
 * Names for callers and main values in logs: the same name for the same value under one key, and no way back without the
 * key. HMAC-SHA-256, 128 bits of it.
 */
export class Pseudonyms {
  #key: Buffer;
  /** A name costs several microseconds to make, and a caller has many lines. */
  #recent = new Map<string, string>();
  #older = new Map<string, string>();

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Another key from now on: the same value gets another name. */
  use(key: Buffer): void {
    if (key.equals(this.#key)) return;
    this.#key = key;
    this.#recent.clear();
    this.#older.clear();
  }

  of(value: string): string {
    const known = this.#recent.get(value);
    if (known !== undefined) return known;
    const name = this.#older.get(value) ?? this.#make(value);
    if (this.#recent.size >= MOST_KEPT) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(ownString(value), name);
    return name;
  }

  #make(value: string): string {
    return createHmac('sha256', this.#key).update(value).digest('base64url').slice(0, DIGITS);
  }
}
