import { RecentCount } from './recent-count.ts';

/** Retries within 10 s that are allowed however few requests there are. */
const MIN_RETRIES = 10;
/** The fraction of the requests of the last 10 s that may be sent again. */
const SHARE = 0.2;

/** The counts of the last 10 s are kept in this many slots of this many milliseconds. */
export const RETRY_SLOTS = { slots: 10, slotMs: 1_000 } as const;

/** Counts the requests to one upstream, and those that were sent again, in the last 10 s. */
export interface RetryCounts {
  readonly requests: Pick<RecentCount, 'add' | 'total'>;
  readonly retries: Pick<RecentCount, 'add' | 'total'>;
  /** Runs a function while no other thread counts retries. */
  alone(run: () => boolean): boolean;
}

/** Makes the counts of the upstream with this name. */
export type NewRetryCounts = (upstream: string) => RetryCounts;

/** Makes counts for this thread only. */
export const ownRetryCounts: NewRetryCounts = () => {
  const newCount = () => new RecentCount(RETRY_SLOTS.slots, RETRY_SLOTS.slotMs);
  return { requests: newCount(), retries: newCount(), alone: run => run() };
};

/** Limits how many requests to an upstream are sent again, so that retries never multiply the load of a failing service. */
export class RetryBudget {
  readonly #counts: RetryCounts;

  constructor(counts: RetryCounts) {
    this.#counts = counts;
  }

  /** Counts a request sent for the first time. */
  sent(nowMs: number): void {
    this.#counts.requests.add(nowMs);
  }

  /** Takes one retry from the budget. Returns false if it is spent. */
  take(nowMs: number): boolean {
    const { requests, retries } = this.#counts;
    return this.#counts.alone(() => {
      const allowed = Math.max(MIN_RETRIES, Math.floor(requests.total(nowMs) * SHARE));
      if (retries.total(nowMs) >= allowed) return false;
      retries.add(nowMs);
      return true;
    });
  }
}
