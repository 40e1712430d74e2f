import type { StoreListener } from '../../core/index.ts';
import type { Logger } from './logger.ts';

/** Clocks further apart than this are worth a log line, milliseconds. */
const FAR_APART_MS = 500;

/** Logs each change of the shared store's state once. Single failures are only counted. */
export class StoreLog implements Partial<StoreListener> {
  readonly #log: Logger;
  #farApart = false;
  #isSubscribed = true;

  constructor(log: Logger) {
    this.#log = log;
  }

  lost(policy: string, cause: string): void {
    const line = { type: 'store', policy, cause };
    if (policy === 'local')
      this.#log.error(line, 'Redis is unreachable: this gateway counts alone, with its share of each limit');
    else if (policy === 'open') this.#log.error(line, 'Redis is unreachable: limits are not enforced');
    else this.#log.error(line, 'Redis is unreachable: requests that have a limit get 503');
  }

  found(lostForMs: number): void {
    if (lostForMs === 0) this.#log.info({ type: 'store' }, 'Redis counts the limits');
    else
      this.#log.info(
        { type: 'store', lostForMs: Math.round(lostForMs) },
        'Redis is reachable again and counts the limits',
      );
  }

  behind(): void {
    this.#log.error(
      { type: 'store' },
      'serving without Redis since the start: tokens that other gateways have revoked pass here until Redis is back (on_failure: closed would wait)',
    );
  }

  caughtUp(): void {
    this.#log.info({ type: 'store' }, 'knows what other gateways have revoked and restricted');
  }

  shareFailed(skippedFacts: number, error: unknown): void {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#log.error(
      { type: 'store', skippedFacts, cause },
      'a fault of this gateway: it could not apply what other gateways have revoked, restricted or lifted',
    );
  }

  subscribed(refusal: string | null): void {
    const isSubscribed = refusal === null;
    if (isSubscribed === this.#isSubscribed) return;
    this.#isSubscribed = isSubscribed;
    if (isSubscribed)
      this.#log.info({ type: 'store' }, 'messages of the other gateways arrive by Redis again');
    else
      this.#log.error(
        { type: 'store', cause: refusal },
        'Redis refuses messages of the other gateways: this one polls for what they have revoked and restricted, once a second',
      );
  }

  beat(_roundTripMs: number, clockAheadMs: number): void {
    const farApart = Math.abs(clockAheadMs) > FAR_APART_MS;
    if (farApart === this.#farApart) return;
    this.#farApart = farApart;
    const line = { type: 'store', clockAheadMs: Math.round(clockAheadMs) };
    if (farApart)
      this.#log.warn(line, 'the clocks of Redis and this gateway are far apart: one of them is wrong');
    else this.#log.info(line, 'the clocks of Redis and this gateway agree again');
  }
}
