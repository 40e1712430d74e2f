import { createHmac } from 'node:crypto';

const DIGITS = 22;

/**
 * Names for callers and main values in logs: the same name for the same value under one key, and no way back without the
 * key. HMAC-SHA-256, 128 bits of it.
 */
export class Pseudonyms {
  #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Another key from now on: the same value gets another name. */
  use(key: Buffer): void {
    this.#key = key;
  }

  of(value: string): string {
    return createHmac('sha256', this.#key).update(value).digest('base64url').slice(0, DIGITS);
  }
}
