import { hash } from 'node:crypto';
import { Memo } from '../../core/index.ts';

/**
 * - `value`: buckets split by a main parameter have a hash for each of its values
 * - `route`: all values share one, for client libraries that add the value themselves
 */
export type BucketHashing = 'value' | 'route';

const HEX_DIGITS = 32;
/** Digests remembered for all buckets of a configuration. */
const MAX_DIGESTS = 1_024;
/** Longer texts are not remembered but hashed each time: ids are shorter, and clients choose the length. */
const MAX_TEXT = 128;

/**
 * Names a bucket to clients: 32 hex digits of the SHA-256 of its name and main value. Caller and quota are left out, so every
 * caller and replica sees the same hash, also after a restart or reload.
 */
export class BucketHash {
  readonly #bucket: string;
  readonly #hashing: BucketHashing;
  readonly #digests: RecentDigests;
  readonly #withoutValue: string;

  /** @param digests may be shared with other buckets */
  constructor(bucket: string, hashing: BucketHashing, digests: RecentDigests) {
    this.#bucket = bucket;
    this.#hashing = hashing;
    this.#digests = digests;
    this.#withoutValue = digest(bucket);
  }

  /** `main`: value of the main parameter, empty where the bucket has none. */
  of(main: string): string {
    if (main === '' || this.#hashing === 'route') return this.#withoutValue;
    return this.#digests.of(`${this.#bucket}\0${main}`);
  }
}

/** Remembers recent digests: the same few values keep coming, and a lookup costs a third of a SHA-256. */
export class RecentDigests {
  readonly #digests = new Memo(digest, MAX_DIGESTS);

  of(text: string): string {
    return text.length > MAX_TEXT ? digest(text) : this.#digests.of(text);
  }
}

function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HEX_DIGITS);
}
