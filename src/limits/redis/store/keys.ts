import { hash } from 'node:crypto';
import { digestOf, Memo, WeakMemo } from '../../../core/index.ts';
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
  readonly #names = new WeakMemo(nameOf);

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The beginning of this caller's keys; the other methods take it as `caller`. */
  caller(caller: string): string {
    return `${this.#prefix}{${this.#digests.of(caller)}}`;
  }

  global(caller: string, limit: Limit): string {
    return caller + this.#names.of(limit);
  }

  /** `main`: '' if the bucket has no main parameter. */
  own(caller: string, limit: Limit, main: string): string {
    return main === ''
      ? caller + this.#names.of(limit)
      : `${caller + this.#names.of(limit)}:${this.#digests.of(main)}`;
  }

  /** The counter that a caller's further main values share. It belongs to this caller only, even for a shared limit. */
  others(caller: string, limit: Limit): string {
    return `${caller + this.#names.of(limit)}:*`;
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
    return `${this.#prefix}{${this.#names.of(limit)}:${this.#digests.of(part)}}`;
  }
}

/** Role, algorithm and period for human readers, then a hash of the identity. */
function nameOf({ role, algorithm, periodMs, identity }: Limit): string {
  return `${role}:${algorithm}:${periodMs}:${hash('sha256', identity, 'base64url').slice(0, NAME_DIGITS)}`;
}
