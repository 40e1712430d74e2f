import { STATUS_CODES } from 'node:http';
import { collectDefaultMetrics } from 'prom-client';
import { type ExchangeListener, type ExchangeRecord, readVersion, rpcCodeName } from '../../core/index.ts';
import { type LabelModel, prepareSeries } from './label-model.ts';
import type { MetricSet } from './metric-set.ts';
import { Tally, type TallyHistogram } from './tally.ts';

/** Connections open now, read at each scrape. */
export interface ConnectionGauges {
  clientConnections(): number;
  upstreamConnections(): Iterable<readonly [upstream: string, connections: number]>;
}

/** Gauges of the library that end like counters, which `promtool check metrics` rejects. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

/**
 * The metrics of exchanges and of the process. Labels come from the configuration and from short fixed lists, never from what clients
 * send, so that the number of series is bounded.
 */
export class ExchangeMetrics implements ExchangeListener {
  readonly #set: MetricSet;
  readonly #requests: Tally;
  readonly #grpc: Tally;
  readonly #duration: TallyHistogram;
  readonly #webSocketDuration: TallyHistogram;
  /** Open WebSockets, by upstream. */
  readonly #webSockets = new Tally();
  readonly #upstreamDuration: TallyHistogram;
  readonly #bytesReceived: Tally;
  readonly #bytesSent: Tally;
  readonly #retries: Tally;
  readonly #errors: Tally;
  readonly #caps: Tally;
  readonly #untrusted: Tally;
  #inFlight = 0;
  #routeDurations = false;

  constructor(set: MetricSet) {
    this.#set = set;
    collectDefaultMetrics({ register: set.registry });
    for (const name of MISNAMED) set.registry.removeSingleMetric(name);
    this.#requests = set.counter('weir_requests_total');
    this.#grpc = set.counter('weir_grpc_calls_total');
    this.#duration = set.histogram('weir_request_duration_seconds', () =>
      this.#routeDurations ? ['upstream', 'route'] : ['upstream'],
    );
    this.#webSocketDuration = set.histogram('weir_websocket_duration_seconds');
    this.#upstreamDuration = set.histogram('weir_upstream_duration_seconds');
    this.#bytesReceived = set.counter('weir_request_body_bytes_total');
    this.#bytesSent = set.counter('weir_response_body_bytes_total');
    this.#retries = set.counter('weir_upstream_retries_total');
    this.#errors = set.counter('weir_errors_total');
    this.#caps = set.counter('weir_caps_met_total');
    this.#untrusted = set.counter('weir_untrusted_forwarding_headers_total');
    set.read('weir_requests_in_flight', () => this.#inFlight);
    set.read('weir_websockets_open', () =>
      Array.from(this.#webSockets.parts, ([upstream, { count }]) => [{ upstream }, count]),
    );
    set.gauge('weir_build_info').set({ version: readVersion(), node: process.versions.node }, 1);
  }

  /** Follows the configuration. Called before `MetricSet.use`, which shows the series. */
  use({ routeDurations, webSocketUpstreams }: LabelModel): void {
    if (this.#routeDurations !== routeDurations) this.#duration.parts.clear();
    this.#routeDurations = routeDurations;
    // A WebSocket outlives the configuration that it began with: what is open stays in the count.
    const open = [...this.#webSockets.parts].filter(([, { count }]) => count > 0);
    const rows = [...webSocketUpstreams, ...open.map(([upstream]) => upstream)].map(upstream => [upstream]);
    prepareSeries(this.#webSockets, rows, 0);
    prepareSeries(this.#webSocketDuration, rows, 0);
  }

  /** Registers what is read at each scrape. */
  observe(gauges: ConnectionGauges): void {
    this.#set.read('weir_client_connections', () => gauges.clientConnections());
    this.#set.read('weir_upstream_connections', () =>
      Array.from(gauges.upstreamConnections(), ([upstream, connections]) => [{ upstream }, connections]),
    );
  }

  started(): void {
    this.#inFlight++;
  }

  switched(upstream: string): void {
    this.#inFlight--;
    this.#webSockets.of(upstream).count++;
  }

  lasting(): void {}

  finished(record: ExchangeRecord): void {
    const upstream = record.upstream ?? 'none';
    this.#noteEnd(record, upstream);
    this.#requests
      .of(record.route ?? 'none')
      .of(statusLabel(record.status))
      .of(record.outcome)
      .of(record.protocol).count++;
    if (record.protocol === 'grpc') this.#countCall(record);
    if (record.upstreamMs !== null) this.#upstreamDuration.of(upstream).observe(record.upstreamMs / 1_000);
    this.#bytesReceived.count += record.bytesReceived;
    this.#bytesSent.count += record.bytesSent;
    if (record.retried) this.#retries.of(upstream).count++;
    if (record.error !== null) this.#countError(record.error, upstream);
  }

  /** A WebSocket is not among the requests, in number or duration: one would hide thousands of them. */
  #noteEnd({ protocol, status, durationMs, route }: ExchangeRecord, upstream: string): void {
    if (protocol === 'websocket' && status === 101) {
      this.#webSockets.of(upstream).count--;
      this.#webSocketDuration.of(upstream).observe(durationMs / 1_000);
    } else {
      this.#inFlight--;
      const duration = this.#duration.of(upstream);
      (this.#routeDurations ? duration.of(route ?? 'none') : duration).observe(durationMs / 1_000);
    }
  }

  #countCall({ route, grpcStatus }: ExchangeRecord): void {
    const code = grpcStatus === null ? 'none' : rpcCodeName(grpcStatus);
    this.#grpc.of(route ?? 'none').of(code).count++;
  }

  #countError({ side, cap }: NonNullable<ExchangeRecord['error']>, upstream: string): void {
    this.#errors.of(side).of(upstream).count++;
    if (cap !== null) this.#caps.of(cap).of(upstream).count++;
  }

  untrustedForwarding(): void {
    this.#untrusted.count++;
  }
}

/** An upstream may invent a status for every response, so only registered ones get a label of their own. */
function statusLabel(status: number): string {
  if (status === 0) return 'none';
  return STATUS_CODES[status] === undefined ? `${Math.floor(status / 100)}xx` : String(status);
}
