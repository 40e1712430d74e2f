import { type Caller, claimOf } from '../../auth/index.ts';
import type { ClaimedValues } from '../../core/index.ts';

/** The claims that limits follow, by what they say. */
interface ClaimNames {
  /** Which group a caller belongs to. */
  readonly groups: readonly string[];
  /** How many requests a caller may send. */
  readonly numbers: readonly string[];
}

/** Maximum bytes of the name of a group: it is a part of the key of counters. A longer one counts as no group. */
const MAX_GROUP = 256;

/** Reads what the tokens of callers say about their limits: once for each token that is remembered. */
export class LimitClaims {
  readonly names: ClaimNames;
  readonly #hasIssuers: boolean;
  /** Weak, so that entries go with the callers. */
  readonly #known = new WeakMap<object, ClaimedValues | null>();

  /** @param hasIssuers true if there are several providers: the same name is then another group for each */
  constructor(names: ClaimNames, hasIssuers: boolean) {
    this.names = names;
    this.#hasIssuers = hasIssuers;
  }

  /** Returns `null` if the token says nothing about limits. */
  of(caller: Pick<Caller, 'claims' | 'issuer'>): ClaimedValues | null {
    let values = this.#known.get(caller);
    if (values === undefined) {
      values = this.#read(caller);
      this.#known.set(caller, values);
    }
    return values;
  }

  /** The name that a group is counted by; `null` if the value of the claim names none. */
  groupOf(value: unknown, issuer: string): string | null {
    const isScalar = typeof value === 'string' || typeof value === 'number' || value === true;
    const text = String(value);
    // A lone surrogate has no UTF-8 form, so two of them would be one group in Redis.
    if (!isScalar || text === '' || !text.isWellFormed()) return null;
    if (Buffer.byteLength(text) > MAX_GROUP) return null;
    return groupName(text, this.#hasIssuers ? issuer : null);
  }

  #read(caller: Pick<Caller, 'claims' | 'issuer'>): ClaimedValues | null {
    const groups = new Map<string, string>();
    const numbers = new Map<string, number>();
    for (const claim of this.names.groups) {
      const group = this.groupOf(claimOf(caller, claim), caller.issuer);
      if (group !== null) groups.set(claim, group);
    }
    for (const claim of this.names.numbers) {
      const number = numberIn(claimOf(caller, claim));
      if (number !== null) numbers.set(claim, number);
    }
    return groups.size + numbers.size === 0 ? null : { groups, numbers };
  }
}

/** Reads a whole number of requests from 1 on, given as a number or in digits. */
function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || number < 1) return null;
  if (Number.isInteger(number)) return Math.min(number, Number.MAX_SAFE_INTEGER);
  // More digits than a number can hold: the largest number stands for them.
  return number === Number.POSITIVE_INFINITY && typeof value === 'string' ? Number.MAX_SAFE_INTEGER : null;
}

/** The name that a group is counted by, and that has a pseudonym in the log. `issuer`: null if there is only one. */
export function groupName(value: string, issuer: string | null): string {
  // An issuer is a URL, so it holds no blank.
  return issuer === null ? value : `${issuer} ${value}`;
}
