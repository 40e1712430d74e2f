import { type Counter, type CounterRule, newCounter } from './counter.ts';
import { fixedWindow } from './fixed-window.ts';
import type { Algorithm, Limit, LimitRole, LimitSet, LimitsByRole } from './limit-definition.ts';
import type { Section } from './sections.ts';
import { smooth } from './smooth.ts';

const RULES: Readonly<Record<Algorithm, CounterRule>> = { window: fixedWindow, smooth };

/** Where the counters of one identity are kept, across all configurations that have it. */
export interface Space {
  /** From 1 on. */
  readonly number: number;
  /** Where they find room. */
  readonly section: Section;
  /** The counter that stands in for all keys without room. */
  readonly overflow: Counter;
}

/** A limit with what a store needs to count it. */
export interface BoundLimit {
  readonly limit: Limit;
  readonly rule: CounterRule;
  readonly space: Space;
}

export type BoundLimits = Readonly<Record<LimitRole, BoundLimit | null>>;

export interface BoundSet extends BoundLimits {
  readonly shadow: BoundLimits | null;
}

/** Lets limits keep their counters across reloads. Grows with configurations, never with requests. */
export class Spaces {
  readonly #sectionOf: (limit: Limit) => Section;
  readonly #byIdentity = new Map<string, Space>();
  /** Weak, so that entries go with their configuration. */
  readonly #bound = new WeakMap<LimitSet, BoundSet>();

  constructor(sectionOf: (limit: Limit) => Section) {
    this.#sectionOf = sectionOf;
  }

  bindSet(limits: LimitSet): BoundSet {
    const known = this.#bound.get(limits);
    if (known !== undefined) return known;
    const shadow = limits.shadow === null ? null : this.#bindEach(limits.shadow);
    const bound = { ...this.#bindEach(limits), shadow };
    this.#bound.set(limits, bound);
    return bound;
  }

  bind(limit: Limit): BoundLimit {
    let space = this.#byIdentity.get(limit.identity);
    if (space === undefined) {
      const section = this.#sectionOf(limit);
      space = { number: this.#byIdentity.size + 1, section, overflow: newCounter() };
      this.#byIdentity.set(limit.identity, space);
    }
    return { limit, rule: RULES[limit.algorithm], space };
  }

  #bindEach({ global, caller, resource }: LimitsByRole): BoundLimits {
    return {
      global: this.#bindOrNull(global),
      caller: this.#bindOrNull(caller),
      resource: this.#bindOrNull(resource),
    };
  }

  #bindOrNull(limit: Limit | null): BoundLimit | null {
    return limit === null ? null : this.bind(limit);
  }
}
