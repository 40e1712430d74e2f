import type { Quota } from '../counting/index.ts';
import { EventCounter, type EventCounterOptions } from './event-counter.ts';
import type { Restricted, RestrictedKind, RestrictionReason } from './restriction.ts';
import type { Restrictions } from './restrictions.ts';
import type { ShadowRestrictions } from './shadow-restrictions.ts';

/** How many offences are tolerated, and for how long the next one restricts. */
export interface OffenceRule {
  /** Tolerates this many; the next one in the same window restricts. */
  readonly quota: Quota;
  readonly restrictForMs: number;
  /** In shadow: the next one is only noted. Default false. */
  readonly shadow?: boolean;
}

/** Adds up the offences seen by several gateways. Called on the request's path: must be quick and must not throw. */
export interface OffenceTally {
  note(offence: Restricted, rule: OffenceRule): void;
  /** Forgets the offences of a client that was lifted. */
  forget(offence: Restricted, rule: OffenceRule): void;
}

export interface OffenceCounterOptions extends EventCounterOptions {
  /** Default null: this process counts alone. */
  readonly tally?: OffenceTally | null;
  /** Where rules in shadow note who would be restricted. Default null: no rule is. */
  readonly shadow?: ShadowRestrictions | null;
}

/**
 * The base of all offences: a count per offender, a rule that a reload may change, and a restriction past it. Off without a
 * rule. The count of this process decides at once; the tally finds out what all gateways have seen together.
 */
export class OffenceCounter<Rule extends OffenceRule = OffenceRule> {
  readonly #counter: EventCounter;
  readonly #restrictions: Restrictions;
  readonly #reason: RestrictionReason;
  readonly #tally: OffenceTally | null;
  readonly #shadow: ShadowRestrictions | null;
  #rule: Rule | null = null;

  constructor(restrictions: Restrictions, reason: RestrictionReason, options: OffenceCounterOptions) {
    this.#counter = new EventCounter(options);
    this.#restrictions = restrictions;
    this.#reason = reason;
    this.#tally = options.tally ?? null;
    restrictions.onLift(lifted => this.#forget(lifted));
    this.#shadow = options.shadow ?? null;
  }

  /** Sets the rule; null switches the offence off. */
  use(rule: Rule | null): void {
    this.#rule = rule;
    if (rule?.shadow !== true) this.#shadow?.end(this.#reason);
    this.#counter.use(rule?.quota ?? null);
  }

  protected get rule(): Rule | null {
    return this.#rule;
  }

  /** Whether offences from this address never count. */
  protected isExempt(address: string): boolean {
    return this.#restrictions.isExempt(address);
  }

  /** A client that was lifted begins anew: its next offence must not restrict it again. */
  #forget({ kind, key, webhook }: Restricted): void {
    if ((kind === 'webhook') !== (this.#reason === 'webhook_not_found')) return;
    this.#counter.forget(key, webhook);
    if (this.#rule !== null) this.#tally?.forget({ kind, key, webhook, reason: this.#reason }, this.#rule);
  }

  /** Counts one offence. `webhook`: '' for the other kinds. */
  protected count(kind: RestrictedKind, key: string, webhook: string): void {
    const rule = this.#rule;
    if (rule === null) return;
    const offence = { kind, key, webhook, reason: this.#reason };
    this.#tally?.note(offence, rule);
    if (this.#counter.count(key, webhook) === 0) return;
    if (rule.shadow === true) this.#shadow?.restrict(offence, rule.restrictForMs);
    else this.#restrictions.restrict(offence, rule.restrictForMs);
  }
}
