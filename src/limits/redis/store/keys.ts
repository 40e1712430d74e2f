import { hash } from 'node:crypto';
import { digestOf, Memo } from '../../../core/index.ts';
import type { Limit } from '../../index.ts';

const NAME_DIGITS = 11;
/** Digests remembered: the same callers and main values recur. */
const MAX_DIGESTS = 10_000;

/**
 * Names the counters in Redis. Callers and main values appear only as hashes, so the keys reveal neither clients nor secrets in
 * paths. The part in braces sets the cluster slot: all keys of a caller share one, and each group and resource has its own.
 */
export class Keys {
  readonly #prefix: string;
  readonly #digests = new Memo(digestOf, MAX_DIGESTS);
  /** Weak, so that entries disappear with their configuration. */
  readonly #names = new WeakMap<Limit, string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The beginning of this caller's keys; the other methods take it as `caller`. */
  caller(caller: string): string {
    return `${this.#prefix}{${this.#digests.of(caller)}}`;
  }

  global(caller: string, limit: Limit): string {
    return caller + this.#nameOf(limit);
  }

  /** `main`: '' if the bucket has no main parameter. */
  own(caller: string, limit: Limit, main: string): string {
    return main === ''
      ? caller + this.#nameOf(limit)
      : `${caller + this.#nameOf(limit)}:${this.#digests.of(main)}`;
  }

  /** The counter that a caller's further main values share. It belongs to this caller only, even for a shared limit. */
  others(caller: string, limit: Limit): string {
    return `${caller + this.#nameOf(limit)}:*`;
  }

  /** The set of the counters for main values that a caller holds: its own, and those of groups and resources that it opened. */
  parts(caller: string): string {
    return `${caller}parts`;
  }

  /** The set of the leases of this caller's requests in flight. `main`: as for `own`. */
  leases(caller: string, limit: Limit, main: string): string {
    return `${this.own(caller, limit, main)}:leases`;
  }

  /** `part`: the main value of a resource, or the part of a group. */
  shared(limit: Limit, part: string): string {
    return `${this.#prefix}{${this.#nameOf(limit)}:${this.#digests.of(part)}}`;
  }

  /** Role, algorithm and period for human readers, then a hash of the identity. */
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
