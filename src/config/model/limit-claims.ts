import type { ClaimedValues } from '../../core/index.ts';
import { type Caller, claimOf } from '../../identity/auth/index.ts';

/** The claims that limits depend on, by purpose. */
interface ClaimNames {
  /** Claims that name a caller's group. */
  readonly groups: readonly string[];
  /** Claims that set how many requests a caller may send. */
  readonly numbers: readonly string[];
}

/**
 * Maximum length of a group's name in bytes: it is a part of the keys of counters. With a longer one, the caller counts as having
 * no group.
 */
const MAX_GROUP = 256;

/** Reads the limit claims in callers' tokens, once per remembered token. */
export class LimitClaims {
  readonly names: ClaimNames;
  readonly #hasIssuers: boolean;
  /** Weak, so that entries disappear with the callers. */
  readonly #known = new WeakMap<object, ClaimedValues | null>();

  /** @param hasIssuers true if there are several providers: the same name is then a different group for each */
  constructor(names: ClaimNames, hasIssuers: boolean) {
    this.names = names;
    this.#hasIssuers = hasIssuers;
  }

  /** Returns `null` if the token has no limit claims. */
  of(caller: Grouped): ClaimedValues | null {
    let values = this.#known.get(caller);
    if (values === undefined) {
      values = this.#read(caller);
      this.#known.set(caller, values);
    }
    return values;
  }

  /** The name under which a group is counted; `null` if the value of the claim is not a name. */
  groupOf(value: unknown, issuer: string | null): string | null {
    const isScalar = typeof value === 'string' || typeof value === 'number' || value === true;
    const text = String(value);
    // A lone surrogate has no UTF-8 form, so two different ones would be one group in Redis.
    if (!isScalar || text === '' || !text.isWellFormed()) return null;
    if (Buffer.byteLength(text) > MAX_GROUP) return null;
    return groupName(text, issuer);
  }

  #read(caller: Grouped): ClaimedValues | null {
    const groups = new Map<string, string>();
    const numbers = new Map<string, number>();
    for (const claim of this.names.groups) {
      const group = this.groupOf(
        claimOf(caller, claim),
        caller.tenant ?? (this.#hasIssuers ? caller.issuer : null),
      );
      if (group !== null) groups.set(claim, group);
    }
    for (const claim of this.names.numbers) {
      const number = numberIn(claimOf(caller, claim));
      if (number !== null) numbers.set(claim, number);
    }
    return groups.size + numbers.size === 0 ? null : { groups, numbers };
  }
}

type Grouped = Pick<Caller, 'claims' | 'issuer' | 'tenant'>;

/** Reads a whole number of requests from 1 on, given as a number or in digits. */
function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || number < 1) return null;
  if (Number.isInteger(number)) return Math.min(number, Number.MAX_SAFE_INTEGER);
  // If it has more digits than a number can hold, use the largest number.
  return number === Number.POSITIVE_INFINITY && typeof value === 'string' ? Number.MAX_SAFE_INTEGER : null;
}

/** The name under which a group is counted, and which has a pseudonym in the log. `issuer`: null if there is only one. */
export function groupName(value: string, issuer: string | null): string {
  // An issuer is a URL, so it contains no space.
  return issuer === null ? value : `${issuer} ${value}`;
}
