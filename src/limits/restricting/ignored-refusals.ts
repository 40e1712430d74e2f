import type { Limit } from '../counting/index.ts';
import { OffenceCounter, type OffenceCounterOptions, type OffenceRule } from './offence-counter.ts';
import { RefusalMemory } from './refusal-memory.ts';
import type { Restrictions } from './restrictions.ts';

/** A request that was refused. */
export interface Refusal {
  /** Key of the client's address. */
  readonly address: string;
  /** Null when the caller counts as its address. */
  readonly principal: string | null;
  /** The limit that refused, and the main value that it was asked for, or `OTHER_PARTS`. */
  readonly limit: Limit;
  readonly main: string;
  /** The wait announced in the response. */
  readonly waitMs: number;
}

export interface IgnoredRefusalsRule extends OffenceRule {
  /** Whether callers identified by address can be restricted, and with them everyone behind that address. */
  readonly addresses: boolean;
}

/**
 * Counts requests of callers that ignore the announced wait: refused again by the same key of a limit, more than a second
 * after its first refusal and before the wait is over. Restricts the caller past the threshold (docs/contract.md, 5.4).
 */
export class IgnoredRefusals extends OffenceCounter<IgnoredRefusalsRule> {
  readonly #memory: RefusalMemory;

  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'ignored_refusals', options);
    this.#memory = new RefusalMemory(options);
  }

  /** Excuses everyone from the waits announced so far. Call it when an operator has given somebody a fresh allowance. */
  forgetWaits(): void {
    this.#memory.forget();
  }

  /**
   * Call this for refusals by a key of the caller's own: its global limit or its limit in a bucket (also a shared bucket). Not
   * for a decision with `sharedKey`: that key may have refused another caller first.
   */
  note({ address, principal, limit, main, waitMs }: Refusal): void {
    const { rule } = this;
    if (rule === null || (principal === null && !rule.addresses) || this.isExempt(address)) return;
    const caller = principal ?? address;
    if (!this.#memory.note(limit, caller, main, waitMs)) return;
    this.count(principal === null ? 'address' : 'principal', caller, '');
  }
}
