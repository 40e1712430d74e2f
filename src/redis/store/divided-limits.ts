import type { Limit, LimitSet } from '../../limits/index.ts';

/**
 * Limits as each of several gateways enforces them by itself: the quota divided by their number, never below 1. Whatever they
 * count stays under the same identity.
 */
export class DividedLimits {
  #divisor = 1;
  /** Weak, so that what belongs to a configuration goes with it. */
  #divided = new WeakMap<LimitSet, LimitSet>();

  of(limits: LimitSet, divisor: number): LimitSet {
    if (divisor <= 1) return limits;
    if (divisor !== this.#divisor) {
      this.#divisor = divisor;
      this.#divided = new WeakMap();
    }
    let divided = this.#divided.get(limits);
    if (divided === undefined) {
      const { global, caller, resource } = limits;
      divided = {
        global: divide(global, divisor),
        caller: divide(caller, divisor),
        resource: divide(resource, divisor),
      };
      this.#divided.set(limits, divided);
    }
    return divided;
  }
}

/** The slack of a smooth limit depends on its units, but only more of it would be allowed here. */
function divide(limit: Limit | null, divisor: number): Limit | null {
  return limit === null ? null : { ...limit, units: Math.max(1, Math.floor(limit.units / divisor)) };
}
