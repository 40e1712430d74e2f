import type { Gauge } from 'prom-client';
import type {
  AdminApiListener,
  AdminChange,
  AdminEndpoint,
  AdminRefusal,
  ConnectionListener,
  HandshakeOutcome,
  Http2FaultReason,
  OverloadListener,
  ProxyHeaderFault,
} from '../../core/index.ts';
import type { LogLosses } from '../log/index.ts';
import type { MetricSet } from './metric-set.ts';
import type { Tally } from './tally.ts';

/** Counts how connections begin, and those that were closed for what their client sent. */
export class ConnectionMetrics implements ConnectionListener {
  readonly #proxyHeaderFaults: Tally;
  readonly #handshakes: Tally;
  readonly #http2Faults: Tally;

  constructor(set: MetricSet) {
    this.#proxyHeaderFaults = set.counter('weir_proxy_header_faults_total');
    this.#handshakes = set.counter('weir_tls_handshakes_total');
    this.#http2Faults = set.counter('weir_http2_faults_total');
  }

  proxyHeaderRefused(fault: ProxyHeaderFault): void {
    this.#proxyHeaderFaults.of(fault).count++;
  }

  handshakeEnded(listener: string, outcome: HandshakeOutcome): void {
    this.#handshakes.of(listener).of(outcome).count++;
  }

  http2Closed(fault: Http2FaultReason): void {
    this.#http2Faults.of(fault).count++;
  }
}

/** Shows when the gateway sheds. What it refuses is in `weir_caps_met_total`. */
export class OverloadMetrics implements OverloadListener {
  readonly #overloaded: Gauge;
  readonly #episodes: Tally;

  constructor(set: MetricSet) {
    this.#overloaded = set.gauge('weir_overloaded');
    this.#episodes = set.counter('weir_overloads_total');
  }

  began(): void {
    this.#overloaded.set(1);
    this.#episodes.count++;
  }

  ended(): void {
    this.#overloaded.set(0);
  }
}

/** Counts what the admin API refuses and changes, and what the admin listener fails to answer. */
export class AdminMetrics implements AdminApiListener {
  readonly #refused: Tally;
  readonly #changes: Tally;
  readonly #faults: Tally;

  constructor(set: MetricSet) {
    this.#refused = set.counter('weir_admin_refused_total');
    this.#changes = set.counter('weir_admin_changes_total');
    this.#faults = set.counter('weir_admin_faults_total');
  }

  changed({ what }: AdminChange): void {
    this.#changes.of(what).count++;
  }

  failed(endpoint: AdminEndpoint): void {
    this.#faults.of(endpoint).count++;
  }

  refused(reason: AdminRefusal): void {
    this.#refused.of(reason).count++;
  }
}

/** Registers whether log lines are written. */
export function observeLog(set: MetricSet, losses: () => LogLosses): void {
  set.read('weir_log_lines_dropped_total', () => losses().linesDropped);
  set.read('weir_log_blocked', () => (losses().trouble === null ? 0 : 1));
}
