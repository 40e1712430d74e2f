import { TwoGenerations } from '../../core/index.ts';
import type { RevocationOptions } from '../options.ts';

interface Count {
  readonly sinceS: number;
  sessions: number;
}

/** Counts the sessions that each subject has ended here within the time for which they are remembered. */
export class SessionCounts {
  readonly #counts: TwoGenerations<Count>;
  readonly #max: number;

  constructor({ maxEntries, maxSessionsOfOne }: RevocationOptions) {
    this.#counts = new TwoGenerations(maxEntries);
    this.#max = maxSessionsOfOne;
  }

  /**
   * Counts one more; false when there are too many.
   *
   * @param subject its digest
   */
  take(subject: string, nowS: number, keepS: number): boolean {
    const known = this.#counts.get(subject);
    const count = known !== undefined && nowS - known.sinceS < keepS ? known : { sinceS: nowS, sessions: 0 };
    count.sessions += 1;
    this.#counts.set(subject, count);
    return count.sessions <= this.#max;
  }
}
