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
  /** What the answer told to wait. */
  readonly waitMs: number;
}

export interface IgnoredRefusalsRule extends OffenceRule {
  /** Whether callers who count as their address can be restricted, and with them all who share it. */
  readonly addresses: boolean;
}

/**
 * Counts the requests of callers who do not wait as they were told: refused again by the same key of a limit, more than a
 * second after its first refusal and before its wait is over. Past the threshold the caller is restricted
 * (docs/contract.md, 5.4).
 */
export class IgnoredRefusals extends OffenceCounter<IgnoredRefusalsRule> {
  readonly #memory: RefusalMemory;

  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'ignored_refusals', options);
    this.#memory = new RefusalMemory(options);
  }

  /**
   * To be called for refusals by a key of the caller's own: its global limit, its limit in a bucket (in a shared one too).
   * Not where a decision says `sharedKey`: that key may have refused somebody else first.
   */
  note({ address, principal, limit, main, waitMs }: Refusal): void {
    const { rule } = this;
    if (rule === null || (principal === null && !rule.addresses) || this.isExempt(address)) return;
    const caller = principal ?? address;
    if (!this.#memory.note(limit, caller, main, waitMs)) return;
    this.count(principal === null ? 'address' : 'principal', caller, '');
  }
}
