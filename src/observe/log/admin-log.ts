import type { AdminApiListener, AdminChange, AdminEndpoint, AdminRefusal, Clock } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Anyone who reaches the port can cause these lines: each reason is logged once per interval, with the number of requests. */
const INTERVAL_MS = 60_000;

const MESSAGES: Readonly<Record<Exclude<AdminRefusal, 'no_token'>, string>> = {
  wrong_token: 'the admin API was sent a wrong token',
  too_many_tokens: 'the admin API refuses tokens of an address that sent too many wrong ones',
  foreign_origin:
    'the admin listener was used by a page of another origin, or by a name other than localhost',
};

const CHANGES: Readonly<Record<AdminChange['what'], string>> = {
  restriction_added: 'an operator restricted a client by the admin API',
  restriction_lifted: 'an operator lifted a restriction by the admin API',
  buckets_reset: 'an operator reset what a client has used up by the admin API',
};

/** Requests refused for one reason, or failed at one endpoint. */
interface Series {
  /** Last logged, by the monotonic clock. */
  loggedAtMs: number;
  /** Since then. */
  requests: number;
}

/** Logs who changed something by the admin API, who was refused, and what the admin listener failed to answer. */
export class AdminLog implements AdminApiListener {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #series = new Map<AdminRefusal | AdminEndpoint, Series>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  changed({ what, client, bucket, by }: AdminChange): void {
    const about = what === 'buckets_reset' ? { client, bucket } : { client };
    this.#log.warn({ type: 'admin', change: what, ...about, address: by }, CHANGES[what]);
  }

  refused(refusal: AdminRefusal, address: string): void {
    // A request without a token is everyday: a person who has not read on yet.
    if (refusal === 'no_token') return;
    const requests = this.#count(refusal);
    if (requests > 0)
      this.#log.warn({ type: 'admin', reason: refusal, address, requests }, MESSAGES[refusal]);
  }

  failed(endpoint: AdminEndpoint, error: unknown): void {
    const requests = this.#count(endpoint);
    if (requests === 0) return;
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#log.error({ type: 'admin', endpoint, requests, cause }, 'the admin listener failed to answer');
  }

  /** Counts one request. Returns how many have come since the last line; 0: it is not time for one. */
  #count(what: AdminRefusal | AdminEndpoint): number {
    const nowMs = this.#clock.monotonicMs();
    const series = this.#series.get(what) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, requests: 0 };
    this.#series.set(what, series);
    series.requests++;
    if (nowMs - series.loggedAtMs < INTERVAL_MS) return 0;
    const { requests } = series;
    series.loggedAtMs = nowMs;
    series.requests = 0;
    return requests;
  }
}
