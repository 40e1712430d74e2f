import type { ProcessPart, RandomBytes } from '../../core/index.ts';
import type * as limits from '../../limits/index.ts';
import { shareResets } from './replication.ts';

interface AllowancesDependencies {
  readonly store: limits.AllowanceStore;
  /** Informs other gateways of a reset. */
  readonly part: ProcessPart;
  readonly randomBytes: RandomBytes;
  /** Makes the store ask again about keys that it knows to be exhausted. */
  readonly forgetKnown: () => void;
  readonly ignoredRefusals: limits.IgnoredRefusals;
}

/** Shows and resets what callers have consumed, for an operator. A reset applies to all gateways that share the limits. */
export class Allowances {
  readonly #dependencies: AllowancesDependencies;
  readonly #announceReset: () => void;

  constructor(dependencies: AllowancesDependencies) {
    const { part, randomBytes } = dependencies;
    this.#dependencies = dependencies;
    this.#announceReset = shareResets(part, randomBytes, () => this.#forgetRefusals());
  }

  /** Reads what is left of these limits, and how much is in flight; `null` if nothing is counting now. */
  async read(...asked: Parameters<limits.AllowanceStore['read']>): Promise<limits.AllowanceReading | null> {
    return this.#dependencies.store.read(...asked);
  }

  /** Resets counters. Returns where they were counted; `null` if nothing is counting now. */
  async reset(
    limits: readonly limits.Limit[],
    caller: string,
    main: string | null,
  ): Promise<limits.CountedIn | null> {
    const countedIn = await this.#dependencies.store.reset(limits, caller, main);
    this.#forgetRefusals();
    if (countedIn === 'redis') this.#announceReset();
    return countedIn;
  }

  /**
   * Forgets remembered refusals: they are no longer valid. They let the gateway refuse again without asking the store, and show who
   * ignores refusals.
   */
  #forgetRefusals(): void {
    const { forgetKnown, ignoredRefusals } = this.#dependencies;
    forgetKnown();
    ignoredRefusals.forgetWaits();
  }
}
