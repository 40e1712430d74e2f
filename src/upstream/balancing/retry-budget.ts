import { RecentCount } from './recent-count.ts';

/** Retries within 10 s that are allowed however few requests there are. */
const LEAST_RETRIES = 10;
/** The part of the requests of the last 10 s that may be sent again. */
const SHARE = 0.2;

/** Limits how many requests to an upstream are sent again, so that retries never multiply the load of a service that fails. */
export class RetryBudget {
  readonly #requests = new RecentCount(10, 1_000);
  readonly #retries = new RecentCount(10, 1_000);

  /** Notes a request that is sent for the first time. */
  sent(nowMs: number): void {
    this.#requests.add(nowMs);
  }

  /** Takes one retry out of the budget. Returns false if it is spent. */
  take(nowMs: number): boolean {
    const allowed = Math.max(LEAST_RETRIES, Math.floor(this.#requests.total(nowMs) * SHARE));
    if (this.#retries.total(nowMs) >= allowed) return false;
    this.#retries.add(nowMs);
    return true;
  }
}
