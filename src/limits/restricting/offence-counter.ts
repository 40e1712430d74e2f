import type { Quota } from '../counting/index.ts';
import { EventCounter, type EventCounterOptions } from './event-counter.ts';
import type { Restricted, RestrictedKind, RestrictionReason } from './restriction.ts';
import type { Restrictions } from './restrictions.ts';

/** How many of an offence are borne, and what follows the one after. */
export interface OffenceRule {
  /** So many are borne; the next one in the same window restricts. */
  readonly quota: Quota;
  readonly restrictForMs: number;
}

/** Adds up what several gateways note. Called on the request's path: must be quick and must not throw. */
export interface OffenceTally {
  note(offence: Restricted, rule: OffenceRule): void;
}

export interface OffenceCounterOptions extends EventCounterOptions {
  /** Default null: this process counts alone. */
  readonly tally?: OffenceTally | null;
}

/**
 * What all offences have in common: a count for each offender, a rule that a reload may change, and a restriction past it.
 * Off without a rule. What this process has seen decides at once; what all gateways have seen together the tally finds out.
 */
export class OffenceCounter<Rule extends OffenceRule = OffenceRule> {
  readonly #counter: EventCounter;
  readonly #restrictions: Restrictions;
  readonly #reason: RestrictionReason;
  readonly #tally: OffenceTally | null;
  #rule: Rule | null = null;

  constructor(restrictions: Restrictions, reason: RestrictionReason, options: OffenceCounterOptions) {
    this.#counter = new EventCounter(options);
    this.#restrictions = restrictions;
    this.#reason = reason;
    this.#tally = options.tally ?? null;
  }

  /** The rule from now on, or null for none. */
  use(rule: Rule | null): void {
    this.#rule = rule;
    this.#counter.use(rule?.quota ?? null);
  }

  protected get rule(): Rule | null {
    return this.#rule;
  }

  /** Whether nothing that comes from this address is held against anyone. */
  protected isExempt(address: string): boolean {
    return this.#restrictions.isExempt(address);
  }

  /** Counts one offence. `webhook`: '' for the other kinds. */
  protected count(kind: RestrictedKind, key: string, webhook: string): void {
    const rule = this.#rule;
    if (rule === null) return;
    const offence = { kind, key, webhook, reason: this.#reason };
    this.#tally?.note(offence, rule);
    if (this.#counter.count(key, webhook) > 0) this.#restrictions.restrict(offence, rule.restrictForMs);
  }
}
