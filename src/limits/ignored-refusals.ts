import type { EventCounterOptions } from './event-counter.ts';
import type { Limit } from './limit.ts';
import { OffenceCounter } from './offence-counter.ts';
import { RefusalMemory } from './refusal-memory.ts';
import type { Restrictions } from './restrictions.ts';

/** A request that was refused. */
export interface Refusal {
  /** Key of the client's address. */
  readonly address: string;
  /** Null when the caller counts as its address. */
  readonly principal: string | null;
  /** The limit that refused, and the main value that it was asked for. */
  readonly limit: Limit;
  readonly main: string;
  /** What the answer told to wait. */
  readonly waitMs: number;
}

/**
 * Counts the requests of callers who do not wait as they were told: refused again by the same key of a limit, more than a
 * second after its first refusal and before its wait is over. Past the threshold the caller is restricted (specification,
 * section 8, "Clients that systematically ignore 429").
 */
export class IgnoredRefusals extends OffenceCounter {
  readonly #memory: RefusalMemory;
  readonly #restrictions: Restrictions;

  constructor(restrictions: Restrictions, options: EventCounterOptions) {
    super(options);
    this.#restrictions = restrictions;
    this.#memory = new RefusalMemory(options);
  }

  /**
   * To be called for refusals by a key of the caller's own: its global limit, its limit in a bucket (in a shared one too).
   * Not where a decision says `sharedKey`: that key may have refused somebody else first.
   */
  note({ address, principal, limit, main, waitMs }: Refusal): void {
    if (this.isOff || this.#restrictions.isExempt(address)) return;
    const caller = principal ?? address;
    if (!this.#memory.note(limit, caller, main, waitMs)) return;
    const restrictForMs = this.count(caller, '');
    if (restrictForMs === 0) return;
    if (principal === null) this.#restrictions.restrictAddress(address, 'ignored_refusals', restrictForMs);
    else this.#restrictions.restrictPrincipal(principal, 'ignored_refusals', restrictForMs);
  }
}
