import { STATUS_CODES } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import {
  type ExchangeListener,
  type ExchangeRecord,
  GATEWAY_CAPS,
  RpcCode,
  rpcCodeName,
  UPSTREAM_CAPS,
} from '../../core/index.ts';
import { observeBuild } from './connection-metrics.ts';
import { type LabelModel, prepareSeries, type Rows } from './label-model.ts';
import { Tally, type TallyHistogram, tallyCounter, tallyHistogram } from './tally.ts';

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
    this.#grpc = tallyCounter({ ...GRPC_CALLS, registers });
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

// The series of exchanges that a configuration makes possible, as rows of label values.

/** Of `weir_requests_total`: how requests of each route commonly end. */
function* requestSeries({ routes }: LabelModel): Rows {
  for (const { route, protocols, endings } of routes)
    for (const [status, outcome] of endings)
      for (const protocol of protocols) yield [route, status, outcome, protocol];
}

const CODES = [...Object.values(RpcCode).map(rpcCodeName), 'none'];

/** Of `weir_grpc_calls_total`. */
function* callSeries({ routes }: LabelModel): Rows {
  for (const { route, protocols } of routes)
    if (protocols.includes('grpc')) for (const code of CODES) yield [route, code];
}

/** Of `weir_request_duration_seconds`: with routes, each is there with its upstream and with the gateway's own responses. */
function* durationSeries({ routes, upstreams, routeDurations }: LabelModel): Rows {
  if (!routeDurations) for (const upstream of ['none', ...upstreams]) yield [upstream];
  else
    for (const { route, upstream } of routes)
      for (const each of new Set(['none', upstream])) yield [each, route];
}

/** Of `weir_errors_total`: only a request that was meant for an upstream has one. */
function errorSeries({ upstreams }: LabelModel): Rows {
  return [
    ...['client', 'gateway', 'provider', 'store'].map(side => [side, 'none']),
    ...upstreams.flatMap(upstream => ['client', 'gateway', 'upstream'].map(side => [side, upstream])),
  ];
}

/** Of `weir_caps_met_total`. */
function capSeries({ upstreams }: LabelModel): Rows {
  return [
    ...GATEWAY_CAPS.map(cap => [cap, 'none']),
    ...upstreams.flatMap(upstream => UPSTREAM_CAPS.map(cap => [cap, upstream])),
  ];
}

// The metrics of exchanges, in the library's terms.

/** Seconds: from a cached response on the same network to the longest first-byte timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Lines of one series in a scrape: its buckets with +Inf, sum and count. */
const DURATION_LINES = DURATION_BUCKETS.length + 3;

const REQUESTS = {
  name: 'weir_requests_total',
  help: 'Requests, by configured route ("none" if no route matched), response status, outcome and protocol.',
  labelNames: ['route', 'status', 'outcome', 'protocol'],
} as const;

const GRPC_CALLS = {
  name: 'weir_grpc_calls_total',
  help: 'gRPC calls, by configured route ("none" if no route matched) and gRPC status ("none" if the call broke off).',
  labelNames: ['route', 'code'],
} as const;

const DURATION = {
  name: 'weir_request_duration_seconds',
  help: 'Time from the head of a request to the last byte of its response, by upstream ("none" if the gateway answered) and, with metrics.route_durations, by route.',
  labelNames: ['upstream'],
  buckets: DURATION_BUCKETS,
} as const;

/** Seconds: from a page that is left at once to a service that is connected all day. */
const WEBSOCKET_BUCKETS = [1, 10, 60, 600, 3_600, 21_600, 86_400];

const WEBSOCKET_DURATION = {
  name: 'weir_websocket_duration_seconds',
  help: 'Lifetime of WebSockets, from the request to the end, by upstream.',
  labelNames: ['upstream'],
  buckets: WEBSOCKET_BUCKETS,
} as const;

const UPSTREAM_DURATION = {
  name: 'weir_upstream_duration_seconds',
  help: 'Time from sending a request upstream to the head of its response.',
  labelNames: ['upstream'],
  buckets: DURATION_BUCKETS,
} as const;

const BYTES_RECEIVED = {
  name: 'weir_request_body_bytes_total',
  help: 'Bytes of request bodies read.',
} as const;

const BYTES_SENT = {
  name: 'weir_response_body_bytes_total',
  help: 'Bytes of response bodies written.',
} as const;

const RETRIES = {
  name: 'weir_upstream_retries_total',
  help: 'Requests sent upstream again because the first attempt cannot have had an effect.',
  labelNames: ['upstream'],
} as const;

const ERRORS = {
  name: 'weir_errors_total',
  help: 'Error responses made by the gateway, by the side at fault and upstream ("none" without one).',
  labelNames: ['side', 'upstream'],
} as const;

const CAPS = {
  name: 'weir_caps_met_total',
  help: 'Requests and connections refused with 503 because a cap was reached, by its key in gateway.yaml and upstream ("none" without one).',
  labelNames: ['cap', 'upstream'],
} as const;

const UNTRUSTED = {
  name: 'weir_untrusted_forwarding_headers_total',
  help: 'Requests whose forwarding headers were ignored because the sender is not a trusted proxy.',
} as const;
