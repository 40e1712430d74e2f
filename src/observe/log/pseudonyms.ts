import { createHmac, hash } from 'node:crypto';
import { Memo } from '../../core/index.ts';

const DIGITS = 22;
const KEY_DIGITS = 8;
const MAX_REMEMBERED = 20_000;

/** HMAC-SHA-256 in base64url, cut to about 128 bits. docs/operations.md tells how to compute it without Weir. */
export function pseudonymOf(key: Buffer, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url').slice(0, DIGITS);
}

/**
 * Names callers and main values in logs: one key gives a value the same name every time, and nobody can recover the value
 * without the key.
 */
export class Pseudonyms {
  #key: Buffer;
  #prefix: string;
  /** A name costs several microseconds, and a caller has many lines. */
  readonly #names = new Memo(value => pseudonymOf(this.#key, value), MAX_REMEMBERED);

  constructor(key: Buffer) {
    this.#key = key;
    this.#prefix = prefixOf(key);
  }

  /** Changes the key, so that the same value gets another name. */
  use(key: Buffer): void {
    if (key.equals(this.#key)) return;
    this.#key = key;
    this.#prefix = prefixOf(key);
    this.#names.forget();
  }

  /** Names the key, so that logs tell whether they share one. */
  get keyId(): string {
    return createHmac('sha256', this.#key).update('\0key id').digest('base64url').slice(0, KEY_DIGITS);
  }

  /**
   * Names a value in a path, of which each request may have a new one: an HMAC takes 20 microseconds, this 1. Half of a SHA-256
   * behind the key: what is cut off is what an extension of the text would need.
   */
  ofPart(value: string): string {
    return hash('sha256', `${this.#prefix}${value}`, 'base64url').slice(0, DIGITS);
  }

  of(value: string): string {
    return this.#names.of(value);
  }
}

/** Keeps hashes of path values apart from all others under the key. */
function prefixOf(key: Buffer): string {
  return `${key.toString('base64')}\0path\0`;
}
