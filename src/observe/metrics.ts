import { STATUS_CODES } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ExchangeListener, ExchangeRecord } from '../core/index.ts';

/** Seconds; from a cached answer next door to the longest first-byte timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What is read at each scrape, since it is a state and no event. */
export interface Gauges {
  clientConnections(): number;
  upstreamConnections(): Iterable<readonly [upstream: string, connections: number]>;
}

/**
 * Every metric of the gateway. Labels come from the configuration and from short fixed lists, never from what clients
 * send, so that the number of series is bounded.
 */
export class Metrics implements ExchangeListener {
  readonly registry = new Registry();
  readonly #requests: Counter<'route' | 'status' | 'outcome'>;
  readonly #duration: Histogram<'upstream'>;
  readonly #upstreamDuration: Histogram<'upstream'>;
  readonly #inFlight: Gauge;
  readonly #bytesReceived: Counter;
  readonly #bytesSent: Counter;
  readonly #retries: Counter<'upstream'>;
  readonly #errors: Counter<'side'>;
  readonly #untrusted: Counter;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Counter({
      name: 'weir_requests_total',
      help: 'Requests by configured route ("none": no route), status of the answer and how they ended.',
      labelNames: ['route', 'status', 'outcome'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'weir_request_duration_seconds',
      help: 'From the head of a request to the last byte of its answer, by upstream ("none": answered by the gateway).',
      labelNames: ['upstream'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.#upstreamDuration = new Histogram({
      name: 'weir_upstream_duration_seconds',
      help: 'From sending a request upstream to the head of the answer.',
      labelNames: ['upstream'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.#inFlight = new Gauge({
      name: 'weir_requests_in_flight',
      help: 'Requests being served now.',
      registers,
    });
    this.#bytesReceived = new Counter({
      name: 'weir_request_body_bytes_total',
      help: 'Bytes of request bodies read.',
      registers,
    });
    this.#bytesSent = new Counter({
      name: 'weir_response_body_bytes_total',
      help: 'Bytes of answer bodies written.',
      registers,
    });
    this.#retries = new Counter({
      name: 'weir_upstream_retries_total',
      help: 'Requests sent a second time, since the first attempt cannot have had an effect.',
      labelNames: ['upstream'],
      registers,
    });
    this.#errors = new Counter({
      name: 'weir_errors_total',
      help: 'Answers that the gateway made by itself, by the side that failed.',
      labelNames: ['side'],
      registers,
    });
    this.#untrusted = new Counter({
      name: 'weir_untrusted_forwarding_headers_total',
      help: 'Requests whose forwarding headers were ignored, since their sender is no trusted proxy.',
      registers,
    });
  }

  /** Registers what is asked of others at each scrape. */
  observe(gauges: Gauges): void {
    const registers = [this.registry];
    new Gauge({
      name: 'weir_client_connections',
      help: 'Client connections open now.',
      registers,
      collect() {
        this.set(gauges.clientConnections());
      },
    });
    new Gauge({
      name: 'weir_upstream_connections',
      help: 'Connections to an upstream open now.',
      labelNames: ['upstream'],
      registers,
      collect() {
        this.reset();
        for (const [upstream, connections] of gauges.upstreamConnections())
          this.set({ upstream }, connections);
      },
    });
  }

  started(): void {
    this.#inFlight.inc();
  }

  finished(record: ExchangeRecord): void {
    const upstream = record.upstream ?? 'none';
    this.#inFlight.dec();
    this.#requests.inc({
      route: record.route ?? 'none',
      status: statusLabel(record.status),
      outcome: record.outcome,
    });
    this.#duration.observe({ upstream }, record.durationMs / 1_000);
    if (record.upstreamMs !== null) this.#upstreamDuration.observe({ upstream }, record.upstreamMs / 1_000);
    if (record.bytesReceived > 0) this.#bytesReceived.inc(record.bytesReceived);
    if (record.bytesSent > 0) this.#bytesSent.inc(record.bytesSent);
    if (record.retried) this.#retries.inc({ upstream });
    if (record.error !== null) this.#errors.inc({ side: record.error.side });
  }

  untrustedForwarding(): void {
    this.#untrusted.inc();
  }
}

/** An upstream may invent a new status for every answer; only registered ones are told apart. */
function statusLabel(status: number): string {
  if (status === 0) return 'none';
  return STATUS_CODES[status] === undefined ? `${Math.floor(status / 100)}xx` : String(status);
}
