import { STATUS_CODES } from 'node:http';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type ExchangeListener, type ExchangeRecord, rpcCodeName } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';
import { type TallyHistogram, tallyHistogram } from './tally-histogram.ts';

/** Seconds: from a cached response on the same network to the longest first-byte timeout. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Connections open now, read at each scrape. */
export interface ConnectionGauges {
  clientConnections(): number;
  upstreamConnections(): Iterable<readonly [upstream: string, connections: number]>;
}

const REQUESTS = {
  name: 'weir_requests_total',
  help: 'Requests, by configured route ("none": no route), status of the response, outcome and protocol.',
  labelNames: ['route', 'status', 'outcome', 'protocol'],
} as const;

const GRPC = {
  name: 'weir_grpc_calls_total',
  help: 'gRPC calls, by configured route ("none": no route) and how they ended ("none": they broke off).',
  labelNames: ['route', 'code'],
} as const;

const DURATION = {
  name: 'weir_request_duration_seconds',
  help: 'Time from the head of a request to the last byte of its response, by upstream ("none": answered by the gateway).',
  labelName: 'upstream',
  buckets: DURATION_BUCKETS,
} as const;

/** Seconds: from a page that is left at once to a service that is connected all day. */
const WEBSOCKET_BUCKETS = [1, 10, 60, 600, 3_600, 21_600, 86_400];

const WEBSOCKET_DURATION = {
  name: 'weir_websocket_duration_seconds',
  help: 'Time from the request for a WebSocket to its end, by upstream.',
  labelName: 'upstream',
  buckets: WEBSOCKET_BUCKETS,
} as const;

const UPSTREAM_DURATION = {
  name: 'weir_upstream_duration_seconds',
  help: 'Time from sending a request upstream to the head of its response.',
  labelName: 'upstream',
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
  help: 'Requests sent a second time after a first attempt that cannot have had an effect.',
  labelNames: ['upstream'],
} as const;

const ERRORS = {
  name: 'weir_errors_total',
  help: 'Errors answered by the gateway itself, by the side that failed.',
  labelNames: ['side'],
} as const;

const CAPS = {
  name: 'weir_caps_met_total',
  help: 'Requests and connections answered 503 because a cap was reached, by its key in gateway.yaml and upstream ("none": no upstream).',
  labelNames: ['cap', 'upstream'],
} as const;

const UNTRUSTED = {
  name: 'weir_untrusted_forwarding_headers_total',
  help: 'Requests whose forwarding headers were ignored because the sender is not a trusted proxy.',
} as const;

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
  readonly #webSockets: Gauge<'upstream'>;
  readonly #upstreamDuration: TallyHistogram;
  readonly #bytesReceived: Tally;
  readonly #bytesSent: Tally;
  readonly #retries: Tally;
  readonly #errors: Tally;
  readonly #caps: Tally;
  readonly #untrusted: Tally;
  #inFlight = 0;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = tallyCounter({ ...REQUESTS, registers });
    this.#grpc = tallyCounter({ ...GRPC, registers });
    this.#duration = tallyHistogram({ ...DURATION, registers });
    this.#webSocketDuration = tallyHistogram({ ...WEBSOCKET_DURATION, registers });
    this.#webSockets = new Gauge({
      name: 'weir_websockets_open',
      help: 'WebSockets open now, by upstream. They are not among the requests in flight.',
      labelNames: ['upstream'],
      registers,
    });
    this.#upstreamDuration = tallyHistogram({ ...UPSTREAM_DURATION, registers });
    const inFlight = () => this.#inFlight;
    new Gauge({
      name: 'weir_requests_in_flight',
      help: 'Requests in flight now.',
      registers,
      collect() {
        this.set(inFlight());
      },
    });
    this.#bytesReceived = tallyCounter({ ...BYTES_RECEIVED, registers });
    this.#bytesSent = tallyCounter({ ...BYTES_SENT, registers });
    this.#retries = tallyCounter({ ...RETRIES, registers });
    this.#errors = tallyCounter({ ...ERRORS, registers });
    this.#caps = tallyCounter({ ...CAPS, registers });
    this.#untrusted = tallyCounter({ ...UNTRUSTED, registers });
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
    this.#webSockets.inc({ upstream });
  }

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
  #noteEnd({ protocol, status, durationMs }: ExchangeRecord, upstream: string): void {
    if (protocol === 'websocket' && status === 101) {
      this.#webSockets.dec({ upstream });
      this.#webSocketDuration.of(upstream).observe(durationMs / 1_000);
    } else {
      this.#inFlight--;
      this.#duration.of(upstream).observe(durationMs / 1_000);
    }
  }

  #countCall({ route, grpcStatus }: ExchangeRecord): void {
    const code = grpcStatus === null ? 'none' : rpcCodeName(grpcStatus);
    this.#grpc.of(route ?? 'none').of(code).count++;
  }

  #countError({ side, cap }: NonNullable<ExchangeRecord['error']>, upstream: string): void {
    this.#errors.of(side).count++;
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
