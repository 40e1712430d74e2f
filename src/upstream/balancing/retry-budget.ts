import type { ProcessPart, Rate } from '../../core/index.ts';

/** Retries within 10 s that are always allowed, however few requests there are. */
const MIN_RETRIES = 10;
/** The fraction of the requests of the last 10 s that may be sent again. */
const SHARE = 0.2;

/** Limits how many requests to an upstream are sent again, so that retries never multiply the load of a failing service. */
export class RetryBudget {
  readonly #requests: Rate;
  readonly #retries: Rate;
  readonly #memory: ProcessPart['memory'];

  constructor(upstream: string, { rates, memory }: Pick<ProcessPart, 'rates' | 'memory'>) {
    this.#memory = memory;
    this.#requests = rates(`requests to ${upstream}`);
    this.#retries = rates(`retries to ${upstream}`);
  }

  /** Counts a request sent for the first time. */
  sent(nowMs: number): void {
    this.#requests.add(nowMs);
  }

  /** Takes one retry from the budget. Returns false if it is spent. */
  take(nowMs: number): boolean {
    // Under the lock, so that no other thread takes a retry meanwhile.
    return this.#memory.whole(() => {
      const allowed = Math.max(MIN_RETRIES, Math.floor(this.#requests.total(nowMs) * SHARE));
      if (this.#retries.total(nowMs) >= allowed) return false;
      this.#retries.add(nowMs);
      return true;
    });
  }
}
