import type { Clock, DecisionEvent, LimitListener, RestrictionRefusal } from '../../core/index.ts';
import { type TopCaller, TopCallers } from './top-callers.ts';

/** Callers held in each list. */
const CAPACITY = 128;
const MINUTE_MS = 60_000;

/** Which callers limits and restrictions refuse most, and which are close to that. */
export class RecentCallers implements Partial<LimitListener> {
  readonly #clock: Clock;
  readonly #refused = new TopCallers(CAPACITY);
  readonly #nearLimit = new TopCallers(CAPACITY);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  decided({ bucket, callerClass, caller, outcome, nearLimit }: DecisionEvent): void {
    if (outcome !== 'admitted')
      this.#refused.note(bucket ?? 'none', callerClass, caller, this.#clock.epochMs()).why = outcome;
    else if (nearLimit) this.#nearLimit.note(bucket ?? 'none', callerClass, caller, this.#clock.epochMs());
  }

  refusedByRestriction({ callerClass, caller, why }: RestrictionRefusal): void {
    const entry = this.#refused.note('none', callerClass, caller, this.#clock.epochMs());
    entry.restricted++;
    entry.why = why;
  }

  advance(): void {
    const nowMs = this.#clock.epochMs();
    this.#refused.sweep(nowMs);
    this.#nearLimit.sweep(nowMs);
  }

  /** Those refused within the last hour, the most refused first. */
  get refused(): readonly TopCaller[] {
    return this.#refused.list();
  }

  /** Those admitted within the last minute with at least 80 % of a limit used up. */
  get nearLimit(): readonly TopCaller[] {
    const fromMs = this.#clock.epochMs() - MINUTE_MS;
    return this.#nearLimit.list().filter(({ lastMs }) => lastMs > fromMs);
  }
}
