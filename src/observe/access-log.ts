import type { Logger } from 'pino';
import type { ExchangeListener, ExchangeRecord } from '../core/index.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/**
 * One JSON line for each request. It holds what operations need and what a replay of the traffic would need, and no
 * token, code, query string or path value.
 */
export class AccessLog implements ExchangeListener {
  /** Whether lines are written. */
  on: boolean;
  readonly #log: Logger;
  readonly #pseudonyms: Pseudonyms;

  constructor(log: Logger, pseudonyms: Pseudonyms, on: boolean) {
    this.on = on;
    this.#log = log;
    this.#pseudonyms = pseudonyms;
  }

  started(): void {}

  finished(record: ExchangeRecord): void {
    if (!this.on) return;
    const line = {
      type: 'access',
      requestId: record.requestId,
      arrivedAt: record.arrivedAtMs,
      sequence: record.sequence,
      method: record.method,
      route: record.route,
      upstream: record.upstream,
      client: record.clientAddress,
      class: record.caller.class,
      ...this.#names(record),
      status: record.status,
      outcome: record.outcome,
      bytesReceived: record.bytesReceived,
      bytesSent: record.bytesSent,
      durationMs: rounded(record.durationMs),
      upstreamMs: record.upstreamMs === null ? null : rounded(record.upstreamMs),
      ...(record.retried ? { retried: true } : {}),
      ...(record.error === null ? {} : { error: record.error.message, side: record.error.side }),
    };
    this.#log.info(line);
  }

  untrustedForwarding(): void {}

  /** Callers and main values by their pseudonyms; buckets and decisions as they are. */
  #names({ caller, decision }: ExchangeRecord): object {
    const main = decision?.main ?? '';
    return {
      ...(caller.principal === null ? {} : { caller: this.#pseudonyms.of(caller.principal) }),
      ...(decision === null ? {} : { bucket: decision.bucket, decision: decision.outcome }),
      ...(main === '' ? {} : { main: this.#pseudonyms.of(main) }),
    };
  }
}

/** Logs the faults among the exchanges with their cause, whether or not there is an access log. */
export class FaultLog implements ExchangeListener {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  started(): void {}

  finished(record: ExchangeRecord): void {
    if (record.error === null || record.error.cause === null) return;
    const { requestId, route, upstream, status, error } = record;
    const line = { type: 'fault', requestId, route, upstream, status, side: error.side, cause: error.cause };
    if (error.side === 'gateway') this.#log.error(line, error.message);
    else this.#log.warn(line, error.message);
  }

  untrustedForwarding(): void {}
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
