import { type FailurePolicy, type StoreListener, WeakMemo } from '../../../core/index.ts';
import type * as limits from '../../index.ts';
import { changeLimits, UNLIMITED } from '../../index.ts';
import type { Question } from './plan.ts';

export interface FallbackDependencies {
  readonly policy: FailurePolicy;
  /** Counts while Redis does not decide. */
  readonly local: limits.MemoryStore;
  /** How many gateways share the limits. */
  readonly replicas: () => number;
  readonly listener: Pick<StoreListener, 'decidedBy'>;
}

/** The wait announced to clients under the policy `closed`. */
const CLOSED_RETRY_MS = 1_000;
const CLOSED: limits.Decision = { ...UNLIMITED, admitted: false, retryAfterMs: CLOSED_RETRY_MS };

/** Decides by the policy while Redis does not. */
export class Fallback {
  readonly #dependencies: FallbackDependencies;
  readonly #divided = new DividedLimits();
  /** The local counters; `null` if the policy decides without them. */
  readonly allowances: limits.AllowanceStore | null;

  constructor(dependencies: FallbackDependencies) {
    this.#dependencies = dependencies;
    this.allowances = dependencies.policy === 'local' ? localAllowances(dependencies) : null;
  }

  /** May return an object that the next call overwrites. */
  decide(question: Question): limits.Decision {
    const { policy, listener } = this.#dependencies;
    listener.decidedBy(policy);
    if (policy === 'local') return this.#decideLocally(question);
    return policy === 'open' ? UNLIMITED : CLOSED;
  }

  /** Returns a unit of a local decision. Returns false if the window is not local. */
  refund(limit: limits.Limit, part: string, window: number, cost: number, caller: string | null): boolean {
    if (window >= 0) return false;
    this.#dependencies.local.refund(limit, part, -window, cost, caller);
    return true;
  }

  /** Negates the windows of a local decision, so that a refund finds its way back to the local store. */
  #decideLocally({ limits, caller, main, group, cost, consuming }: Question): limits.Decision {
    const { local, replicas } = this.#dependencies;
    const divided = this.#divided.of(limits, replicas());
    if (!consuming) return local.peek(divided, caller, main, group, cost);
    const decision = local.decide(divided, caller, main, group, cost);
    const { drawn, shadow } = decision;
    if (drawn.length + shadow.drawn.length === 0) return decision;
    return { ...decision, drawn: negated(drawn), shadow: { ...shadow, drawn: negated(shadow.drawn) } };
  }
}

function negated(drawn: limits.Decision['drawn']): limits.Decision['drawn'] {
  return drawn.map(each => ({ ...each, window: -each.window }));
}

function localAllowances({ local, replicas }: FallbackDependencies): limits.AllowanceStore {
  return {
    async read(limits, caller, main, concurrent) {
      const divided = limits.map(limit => divideLimit(limit, replicas()));
      return { ...(await local.allowances.read(divided, caller, main, concurrent)), countedIn: 'local' };
    },
    async reset(limits, caller, main): Promise<limits.CountedIn> {
      await local.allowances.reset(limits, caller, main);
      return 'local';
    },
  };
}

/**
 * Divides quotas by the number of gateways, to at least 1, for gateways that have to count on their own. The identities stay, and
 * with them the counters.
 */
export class DividedLimits {
  #divisor = 1;
  #divided = dividedBy(1);

  of(set: limits.LimitSet, divisor: number): limits.LimitSet {
    if (divisor <= 1) return set;
    if (divisor !== this.#divisor) {
      this.#divisor = divisor;
      this.#divided = dividedBy(divisor);
    }
    return this.#divided.of(set);
  }
}

function dividedBy(divisor: number): WeakMemo<limits.LimitSet, limits.LimitSet> {
  return new WeakMemo(set => changeLimits(set, limit => divideLimit(limit, divisor)));
}

/** Keeps the slack of the undivided limit. Computed from fewer units, it would make a smooth limit allow more. */
function divideLimit(limit: limits.Limit, divisor: number): limits.Limit {
  const more = limit.more.map(each => divideLimit(each, divisor));
  return { ...limit, units: Math.max(1, Math.floor(limit.units / divisor)), more };
}
