import type { Clock } from '../../core/index.ts';
import type { Tally } from '../metrics/index.ts';
import { RecentCallers } from './recent-callers.ts';
import { RecentDecisions } from './recent-decisions.ts';
import { RecentErrors } from './recent-errors.ts';
import { TICK_MS } from './sliding-count.ts';

/** What happened within the last hour, for the status page. Bounded, and looked after every few seconds. */
export class Recent {
  readonly decisions: RecentDecisions;
  readonly callers: RecentCallers;
  readonly errors: RecentErrors;
  readonly #upstreams: () => Iterable<string>;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param decisions what the metrics count, by bucket, class and outcome
   * @param upstreams the names of those configured
   */
  constructor(clock: Clock, decisions: Tally, upstreams: () => Iterable<string>) {
    this.decisions = new RecentDecisions(decisions);
    this.callers = new RecentCallers(clock);
    this.errors = new RecentErrors(clock);
    this.#upstreams = upstreams;
  }

  start(): void {
    this.#timer = setInterval(() => this.advance(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Ends a tick. */
  advance(): void {
    this.decisions.advance();
    this.callers.advance();
    this.errors.advance(new Set(this.#upstreams()));
  }
}
