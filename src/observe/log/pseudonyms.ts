import { createHmac } from 'node:crypto';
import { Memo } from './memo.ts';

const DIGITS = 22;

/**
 * Names for callers and main values in logs: the same name for the same value under one key, and no way back without the
 * key. HMAC-SHA-256, 128 bits of it.
 */
export class Pseudonyms {
  #key: Buffer;
  /** A name costs several microseconds to make, and a caller has many lines. */
  readonly #names = new Memo<string>(value =>
    createHmac('sha256', this.#key).update(value).digest('base64url').slice(0, DIGITS),
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
