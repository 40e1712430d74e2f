import { hash } from 'node:crypto';
import { digestOf, Memo } from '../../core/index.ts';
import type { Limit } from '../../limits/index.ts';

const NAME_DIGITS = 11;
/** Digests remembered: callers and main values come again and again. */
const MAX_DIGESTS = 10_000;

/**
 * Names of the counters in Redis. Callers and main values are only in them as hashes: who reads the keys learns neither tokens
 * nor secrets in paths. What is in braces decides the slot of a cluster: all keys of a caller share it, and each resource
 * has its own.
 */
export class Keys {
  readonly #prefix: string;
  readonly #digests = new Memo(digestOf, MAX_DIGESTS);
  /** Weak, so that what belongs to a configuration goes with it. */
  readonly #names = new WeakMap<Limit, string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** What the keys of this caller begin with. */
  caller(caller: string): string {
    return `${this.#prefix}{${this.#digests.of(caller)}}`;
  }

  global(caller: string, limit: Limit): string {
    return caller + this.#nameOf(limit);
  }

  /** `main`: '' where the bucket has no main parameter. */
  own(caller: string, limit: Limit, main: string): string {
    return main === ''
      ? caller + this.#nameOf(limit)
      : `${caller + this.#nameOf(limit)}:${this.#digests.of(main)}`;
  }

  /** The counter of the main values past those that a caller may hold. */
  others(caller: string, limit: Limit): string {
    return `${caller + this.#nameOf(limit)}:*`;
  }

  /** Which main values a caller holds. */
  parts(caller: string): string {
    return `${caller}parts`;
  }

  resource(limit: Limit, main: string): string {
    return `${this.#prefix}{${this.#nameOf(limit)}:${this.#digests.of(main)}}`;
  }

  /** Role, algorithm and period for people who read it, and a hash of all that makes the identity. */
  #nameOf(limit: Limit): string {
    let name = this.#names.get(limit);
    if (name === undefined) {
      const { role, algorithm, periodMs, identity } = limit;
      name = `${role}:${algorithm}:${periodMs}:${hash('sha256', identity, 'base64url').slice(0, NAME_DIGITS)}`;
      this.#names.set(limit, name);
    }
    return name;
  }
}
