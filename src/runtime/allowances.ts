import type { AllowanceReading, AllowanceStore, CountedIn, IgnoredRefusals, Limit } from '../limits/index.ts';
import { announceReset, onReset } from './replication.ts';
import type { SharedStore } from './shared-store.ts';

export interface AllowancesDependencies {
  readonly store: AllowanceStore;
  /** Null: limits are counted in this process alone. */
  readonly shared: SharedStore | null;
  readonly ignoredRefusals: IgnoredRefusals;
}

/** Shows and resets what callers have drawn, for an operator. A reset counts at all gateways that share the limits. */
export class Allowances {
  readonly #dependencies: AllowancesDependencies;

  constructor(dependencies: AllowancesDependencies) {
    this.#dependencies = dependencies;
    if (dependencies.shared !== null) onReset(dependencies.shared.board, () => this.#forgetRefusals());
  }

  /** Null: nothing counts now. */
  async read(limits: readonly Limit[], caller: string, main: string): Promise<AllowanceReading | null> {
    return this.#dependencies.store.read(limits, caller, main);
  }

  /** Null: nothing counts now. */
  async reset(limits: readonly Limit[], caller: string, main: string | null): Promise<CountedIn | null> {
    const { store, shared } = this.#dependencies;
    const countedIn = await store.reset(limits, caller, main);
    this.#forgetRefusals();
    if (countedIn === 'redis' && shared !== null) announceReset(shared.board);
    return countedIn;
  }

  /** Refusals that are remembered, to repeat them without asking and to tell who ignores them, no longer hold. */
  #forgetRefusals(): void {
    const { shared, ignoredRefusals } = this.#dependencies;
    shared?.limits.forgetRefusals();
    ignoredRefusals.forgetWaits();
  }
}
