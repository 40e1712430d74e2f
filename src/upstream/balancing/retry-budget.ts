import type { NewRate, Rate } from '../../core/index.ts';

/** Retries within 10 s that are allowed however few requests there are. */
const MIN_RETRIES = 10;
/** The fraction of the requests of the last 10 s that may be sent again. */
const SHARE = 0.2;

/** Limits how many requests to an upstream are sent again, so that retries never multiply the load of a failing service. */
export class RetryBudget {
  readonly #requests: Rate;
  readonly #retries: Rate;

  constructor(upstream: string, rates: NewRate) {
    this.#requests = rates(`requests to ${upstream}`);
    this.#retries = rates(`retries to ${upstream}`);
  }

  /** Counts a request sent for the first time. */
  sent(nowMs: number): void {
    this.#requests.add(nowMs);
  }

  /** Takes one retry from the budget. Returns false if it is spent. */
  take(nowMs: number): boolean {
    const allowed = Math.max(MIN_RETRIES, Math.floor(this.#requests.total(nowMs) * SHARE));
    return this.#retries.addUpTo(allowed, nowMs);
  }
}
