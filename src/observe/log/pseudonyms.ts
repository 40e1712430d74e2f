import { createHmac } from 'node:crypto';
import { Memo } from '../../core/index.ts';

const DIGITS = 22;
const MAX_REMEMBERED = 20_000;

/**
 * Names for callers and main values in logs: the same name for the same value under one key, and no way back without the
 * key. HMAC-SHA-256, 128 bits of it.
 */
export class Pseudonyms {
  #key: Buffer;
  /** A name costs several microseconds to make, and a caller has many lines. */
  readonly #names = new Memo(
    value => createHmac('sha256', this.#key).update(value).digest('base64url').slice(0, DIGITS),
    MAX_REMEMBERED,
  );

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Another key from now on: the same value gets another name. */
  use(key: Buffer): void {
    if (key.equals(this.#key)) return;
    this.#key = key;
    this.#names.forget();
  }

  of(value: string): string {
    return this.#names.of(value);
  }
}
