import { STATUS_CODES } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type ExchangeListener, type ExchangeRecord, rpcCodeName } from '../../core/index.ts';
import { observeBuild } from './build-info.ts';
import {
  BYTES_RECEIVED,
  BYTES_SENT,
  CAPS,
  DURATION,
  DURATION_LINES,
  ERRORS,
  GRPC,
  REQUESTS,
  RETRIES,
  UNTRUSTED,
  UPSTREAM_DURATION,
  WEBSOCKET_DURATION,
} from './exchange-definitions.ts';
import { callSeries, capSeries, durationSeries, errorSeries, requestSeries } from './exchange-series.ts';
import type { LabelModel } from './label-model.ts';
import { prepareSeries } from './prepare-series.ts';
import { Tally, tallyCounter } from './tally.ts';
import { type TallyHistogram, tallyHistogram } from './tally-histogram.ts';

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
 * Every metric of the gateway. Labels come from the configuration and from short fixed lists, never from what clients
 * send, so that the number of series is bounded.
 */
export class Metrics implements ExchangeListener {
  readonly registry = new Registry();
  readonly #requests: Tally;
  readonly #grpc: Tally;
  readonly #duration: TallyHistogram;
  readonly #webSocketDuration: TallyHistogram;
  /** Open now. */
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

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    this.#requests = tallyCounter({ ...REQUESTS, registers });
    this.#grpc = tallyCounter({ ...GRPC, registers });
    this.#duration = tallyHistogram({ ...DURATION, registers }, () =>
      this.#routeDurations ? ['upstream', 'route'] : DURATION.labelNames,
    );
    this.#webSocketDuration = tallyHistogram({ ...WEBSOCKET_DURATION, registers });
    this.#upstreamDuration = tallyHistogram({ ...UPSTREAM_DURATION, registers });
    this.#bytesReceived = tallyCounter({ ...BYTES_RECEIVED, registers });
    this.#bytesSent = tallyCounter({ ...BYTES_SENT, registers });
    this.#retries = tallyCounter({ ...RETRIES, registers });
    this.#errors = tallyCounter({ ...ERRORS, registers });
    this.#caps = tallyCounter({ ...CAPS, registers });
    this.#untrusted = tallyCounter({ ...UNTRUSTED, registers });
    this.#registerGauges(registers);
    observeBuild(this.registry);
  }

  /** Follows the configuration: shows the series that it makes possible, and drops those of what it no longer has. */
  use(labels: LabelModel): void {
    const upstreams = labels.upstreams.map(upstream => [upstream]);
    if (this.#routeDurations !== labels.routeDurations) this.#duration.parts.clear();
    this.#routeDurations = labels.routeDurations;
    prepareSeries(this.#requests, requestSeries(labels), 0);
    prepareSeries(this.#grpc, callSeries(labels), 0);
    prepareSeries(this.#duration, durationSeries(labels), labels.routeDurations ? 1 : 0, DURATION_LINES);
    prepareSeries(this.#upstreamDuration, upstreams, 0, DURATION_LINES);
    prepareSeries(this.#retries, upstreams, 0);
    prepareSeries(this.#errors, errorSeries(labels), 1);
    prepareSeries(this.#caps, capSeries(labels), 1);
    this.#useWebSocketUpstreams(labels.webSocketUpstreams);
  }

  /** A WebSocket outlives the configuration that it began with: what is open stays in the count. */
  #useWebSocketUpstreams(upstreams: readonly string[]): void {
    const open = [...this.#webSockets.parts]
      .filter(([, { count }]) => count > 0)
      .map(([upstream]) => upstream);
    prepareSeries(
      this.#webSockets,
      [...upstreams, ...open].map(upstream => [upstream]),
      0,
    );
    prepareSeries(
      this.#webSocketDuration,
      [...upstreams, ...open].map(upstream => [upstream]),
      0,
    );
  }

  #registerGauges(registers: Registry[]): void {
    const inFlight = () => this.#inFlight;
    new Gauge({
      name: 'weir_requests_in_flight',
      help: 'Requests in flight.',
      registers,
      collect() {
        this.set(inFlight());
      },
    });
    const { parts } = this.#webSockets;
    new Gauge({
      name: 'weir_websockets_open',
      help: 'Open WebSockets, by upstream. They do not count as requests in flight.',
      labelNames: ['upstream'],
      registers,
      collect() {
        this.reset();
        for (const [upstream, { count }] of parts) this.set({ upstream }, count);
      },
    });
  }

  /** Registers what is read at each scrape. */
  observe(gauges: ConnectionGauges): void {
    const registers = [this.registry];
    new Gauge({
      name: 'weir_client_connections',
      help: 'Open client connections.',
      registers,
      collect() {
        this.set(gauges.clientConnections());
      },
    });
    new Gauge({
      name: 'weir_upstream_connections',
      help: 'Open connections to each upstream.',
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
