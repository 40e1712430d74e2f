import { EventCounter, type EventCounterOptions } from './event-counter.ts';
import type { Quota } from './quota.ts';

/** How many of an offence are borne, and what follows the one after. */
export interface OffenceRule {
  /** So many are borne; the next one in the same window restricts. */
  readonly quota: Quota;
  readonly restrictForMs: number;
}

/** What all offences have in common: a count for each offender and a rule that a reload may change. Off without a rule. */
export class OffenceCounter {
  readonly #counter: EventCounter;
  #rule: OffenceRule | null = null;

  constructor(options: EventCounterOptions) {
    this.#counter = new EventCounter(options);
  }

  /** The rule from now on, or null for none. */
  use(rule: OffenceRule | null): void {
    this.#rule = rule;
    this.#counter.use(rule?.quota ?? null);
  }

  protected get isOff(): boolean {
    return this.#rule === null;
  }

  /** Counts one offence. How long the offender is to be restricted, or 0 while the quota bears it. */
  protected count(offender: string, part: string): number {
    if (this.#rule === null || this.#counter.count(offender, part) === 0) return 0;
    return this.#rule.restrictForMs;
  }
}
