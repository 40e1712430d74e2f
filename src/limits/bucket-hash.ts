import { hash } from 'node:crypto';

/**
 * - `value`: buckets split by a main parameter have a hash for each of its values
 * - `route`: all values share one, for client libraries that add the value themselves
 */
export type BucketHashing = 'value' | 'route';

const HEX_DIGITS = 32;

/**
 * Names a bucket to clients: 32 hex digits of the SHA-256 of its name and its main value, with nothing of the caller and no
 * numbers, so the same for every caller and replica, before and after a restart or reload.
 */
export class BucketHash {
  readonly #bucket: string;
  readonly #hashing: BucketHashing;
  readonly #withoutValue: string;

  constructor(bucket: string, hashing: BucketHashing) {
    this.#bucket = bucket;
    this.#hashing = hashing;
    this.#withoutValue = digest(bucket);
  }

  /** `main`: value of the main parameter, empty where the bucket has none. */
  of(main: string): string {
    if (main === '' || this.#hashing === 'route') return this.#withoutValue;
    // Not cached: Node hashes a short string faster than a cache could be kept bounded (0.4 us).
    return digest(`${this.#bucket}\0${main}`);
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HEX_DIGITS);
}
