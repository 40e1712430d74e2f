import { hash } from 'node:crypto';
import { Memo, randomKey } from '../../core/index.ts';

/**
 * Represents a string in a table by 64 bits of HalfSipHash-1-3 under a secret key. Without the key, nobody can choose strings
 * that collide. The chance that any two of a million strings share a value is 3 in a hundred million; those two would count as
 * one, so they are admitted less often, never more.
 *
 * The strings themselves are not kept: they would be the only objects in a table that the garbage collector has to trace, they
 * can be of any length, and a slice of a request's head keeps the whole head alive.
 * Source: https://github.com/veorq/SipHash (halfsiphash.c, with one round per word and three to finish)
 */
export class StringHash {
  /** The hash of the last string read, as two signed integers; both 0 for the empty string. */
  low = 0;
  high = 0;
  readonly #key0: number;
  readonly #key1: number;
  // The limits of one request hash the same string in turn.
  #last = '';

  constructor(key0: number, key1: number) {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
  }

  /** Uses a cryptographic random key, which no client can derive from other random numbers it has seen. */
  static withRandomKey(): StringHash {
    const key = randomKey();
    return new StringHash(key.readInt32LE(0), key.readInt32LE(4));
  }

  read(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (text === '') this.low = this.high = 0;
    else this.#compute(text);
  }

  /** Hashes the string's UTF-16 units, low byte first. */
  #compute(text: string): void {
    let v0 = this.#key0;
    let v1 = this.#key1 ^ 0xee;
    let v2 = this.#key0 ^ 0x6c796765;
    let v3 = this.#key1 ^ 0x74656462;
    // One round for each word of two units (the last word holds the length), then twice three rounds without a word.
    const words = (text.length >> 1) + 1;
    for (let i = 0; i < words + 6; i++) {
      const word = i < words ? wordAt(text, i * 2) : 0;
      if (i === words) v2 ^= 0xee;
      if (i === words + 3) {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    this.high = v1 ^ v3;
  }
}

function wordAt(text: string, at: number): number {
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  return (at < text.length ? text.charCodeAt(at) : 0) | (text.length << 25);
}

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
