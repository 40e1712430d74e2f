import type { Clock } from '../../core/index.ts';
import { RecentCallers } from './recent-callers.ts';
import { type LimitTallies, RecentDecisions } from './recent-decisions.ts';
import { RecentErrors } from './recent-errors.ts';
import { TICK_MS } from './sliding-count.ts';

/** What happened within the last hour, for the status page. Bounded, and looked after every few seconds. */
export class Recent {
  readonly decisions: RecentDecisions;
  readonly callers: RecentCallers;
  readonly errors: RecentErrors;
  readonly #upstreams: () => Iterable<string>;
  #timer: NodeJS.Timeout | undefined;

  /** @param upstreams the names of those configured */
  constructor(clock: Clock, tallies: LimitTallies, upstreams: () => Iterable<string>) {
    this.decisions = new RecentDecisions(tallies);
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
