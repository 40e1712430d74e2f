import type { Limit, LimitSet, LimitsByRole } from '../../limits/index.ts';

/**
 * Divides quotas by the number of gateways, never below 1, for gateways that have to count on their own. The identities stay, and
 * with them the counters.
 */
export class DividedLimits {
  #divisor = 1;
  /** Weak, so that entries go with their configuration. */
  #divided = new WeakMap<LimitSet, LimitSet>();

  of(limits: LimitSet, divisor: number): LimitSet {
    if (divisor <= 1) return limits;
    if (divisor !== this.#divisor) {
      this.#divisor = divisor;
      this.#divided = new WeakMap();
    }
    let divided = this.#divided.get(limits);
    if (divided === undefined) {
      const { shadow } = limits;
      divided = {
        ...divideEach(limits, divisor),
        shadow: shadow === null ? null : divideEach(shadow, divisor),
      };
      this.#divided.set(limits, divided);
    }
    return divided;
  }
}

function divideEach({ global, caller, resource }: LimitsByRole, divisor: number): LimitsByRole {
  return {
    global: global && divideLimit(global, divisor),
    caller: caller && divideLimit(caller, divisor),
    resource: resource && divideLimit(resource, divisor),
  };
}

/** Keeps the slack: that of a smooth limit depends on its units, but fewer units would only allow more slack. */
export function divideLimit(limit: Limit, divisor: number): Limit {
  return { ...limit, units: Math.max(1, Math.floor(limit.units / divisor)) };
}
