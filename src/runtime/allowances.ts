import type { Facts } from '../core/index.ts';
import type { AllowanceReading, AllowanceStore, CountedIn, IgnoredRefusals, Limit } from '../limits/index.ts';
import { announceReset, onReset } from './replication.ts';

export interface AllowancesDependencies {
  readonly store: AllowanceStore;
  /** What gateways tell each other; `null` if there is one alone. */
  readonly facts: Facts | null;
  /** Makes the store ask again about the keys that it knows to be exhausted. */
  readonly forgetKnown: () => void;
  readonly ignoredRefusals: IgnoredRefusals;
}

/** Shows and resets what callers have consumed, for an operator. A reset counts at all gateways that share the limits. */
export class Allowances {
  readonly #dependencies: AllowancesDependencies;

  constructor(dependencies: AllowancesDependencies) {
    this.#dependencies = dependencies;
    if (dependencies.facts !== null) onReset(dependencies.facts, () => this.#forgetRefusals());
  }

  /** Reads what is left of these limits; `null` if nothing counts now. */
  async read(limits: readonly Limit[], caller: string, main: string): Promise<AllowanceReading | null> {
    return this.#dependencies.store.read(limits, caller, main);
  }

  /** Says where the counters were that it has reset; `null` if nothing counts now. */
  async reset(limits: readonly Limit[], caller: string, main: string | null): Promise<CountedIn | null> {
    const { store, facts } = this.#dependencies;
    const countedIn = await store.reset(limits, caller, main);
    this.#forgetRefusals();
    if (countedIn === 'redis' && facts !== null) announceReset(facts);
    return countedIn;
  }

  /** Forgets the refusals that are remembered, to repeat them without asking and to tell who ignores them: they no longer hold. */
  #forgetRefusals(): void {
    const { forgetKnown, ignoredRefusals } = this.#dependencies;
    forgetKnown();
    ignoredRefusals.forgetWaits();
  }
}
