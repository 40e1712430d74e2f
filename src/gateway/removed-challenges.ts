import type { Clock, ExchangeListener, RemovedChallenge } from '../core/index.ts';

const HOUR_MS = 3_600_000;

/** Reports challenges that could not pass to clients: for each upstream once an hour, since all of its 401s have them. */
export class RemovedChallenges {
  readonly #clock: Clock;
  readonly #listener: Pick<ExchangeListener, 'challengeRemoved'>;
  /** When each upstream was last reported. Bounded by the upstreams that were ever configured. */
  readonly #reportedMs = new Map<string, number>();

  constructor(clock: Clock, listener: Pick<ExchangeListener, 'challengeRemoved'>) {
    this.#clock = clock;
    this.#listener = listener;
  }

  removed(challenge: RemovedChallenge): void {
    const nowMs = this.#clock.monotonicMs();
    const { upstream } = challenge;
    if (nowMs - (this.#reportedMs.get(upstream) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return;
    this.#reportedMs.set(upstream, nowMs);
    this.#listener.challengeRemoved(challenge);
  }
}
