import { Counter, Gauge, type Registry } from 'prom-client';
import {
  ADMIN_CHANGES,
  ADMIN_ENDPOINTS,
  ADMIN_REFUSALS,
  type AdminApiListener,
  type AdminChange,
  type AdminEndpoint,
  type AdminRefusal,
  type ConnectionListener,
  HANDSHAKE_OUTCOMES,
  type HandshakeOutcome,
  HTTP2_FAULTS,
  type Http2FaultReason,
  type OverloadListener,
  PROXY_HEADER_FAULTS,
  type ProxyHeaderFault,
  readVersion,
} from '../../core/index.ts';
import { type LabelModel, prepareSeries } from './label-model.ts';
import { type Tally, tallyCounter } from './tally.ts';

const HEADERS_REFUSED = {
  name: 'weir_proxy_header_faults_total',
  help: 'Connections closed because of their PROXY header, by reason: untrusted_peer, missing, broken, late.',
  labelNames: ['reason'],
} as const;

const HANDSHAKES = {
  name: 'weir_tls_handshakes_total',
  help: 'TLS handshakes with clients, by listener and outcome: full, resumed, or why they failed (timeout, capacity, cleartext, no_overlap, client_certificate, rejected, closed, malformed).',
  labelNames: ['listener', 'outcome'],
} as const;

const HTTP2_CLOSED = {
  name: 'weir_http2_faults_total',
  help: 'HTTP/2 connections closed because of what the client sent, by reason: resets, unexplained_bytes, control_frames, continuations, invalid_frames, refused_streams, protocol.',
  labelNames: ['reason'],
} as const;

/** Counts how connections begin, and those that were closed for what their client sent. */
export class ConnectionMetrics implements ConnectionListener {
  readonly #proxyHeaderFaults: Tally;
  readonly #handshakes: Tally;
  readonly #http2Faults: Tally;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#proxyHeaderFaults = tallyCounter({ ...HEADERS_REFUSED, registers });
    this.#handshakes = tallyCounter({ ...HANDSHAKES, registers });
    this.#http2Faults = tallyCounter({ ...HTTP2_CLOSED, registers });
    for (const fault of PROXY_HEADER_FAULTS) this.#proxyHeaderFaults.of(fault);
    for (const fault of HTTP2_FAULTS) this.#http2Faults.of(fault);
  }

  /** Follows the configuration. */
  use({ tlsListeners }: LabelModel): void {
    const rows = tlsListeners.flatMap(listener => HANDSHAKE_OUTCOMES.map(outcome => [listener, outcome]));
    prepareSeries(this.#handshakes, rows, 0);
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
  readonly #episodes: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#overloaded = new Gauge({
      name: 'weir_overloaded',
      help: '1 while the event loop is too far behind and new requests may be answered 503, else 0.',
      registers,
    });
    this.#episodes = new Counter({
      name: 'weir_overloads_total',
      help: 'Times that the event loop fell too far behind, and new requests were answered 503 for a while.',
      registers,
    });
  }

  began(): void {
    this.#overloaded.set(1);
    this.#episodes.inc();
  }

  ended(): void {
    this.#overloaded.set(0);
  }
}

/** Counts what the admin API refuses and changes, and what the admin listener fails to answer. */
export class AdminMetrics implements AdminApiListener {
  readonly #refused: Counter<'reason'>;
  readonly #changes: Counter<'change'>;
  readonly #faults: Counter<'endpoint'>;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: 'weir_admin_refused_total',
      help: 'Requests that the admin API refused, by reason: wrong_token, too_many_tokens, no_token or foreign_origin.',
      labelNames: ['reason'],
      registers: [registry],
    });
    this.#changes = new Counter({
      name: 'weir_admin_changes_total',
      help: 'Changes by the admin API: restriction_added, restriction_lifted or buckets_reset.',
      labelNames: ['change'],
      registers: [registry],
    });
    this.#faults = new Counter({
      name: 'weir_admin_faults_total',
      help: 'Requests that the admin listener failed to answer through a fault of its own, by what they were for.',
      labelNames: ['endpoint'],
      registers: [registry],
    });
    for (const endpoint of ADMIN_ENDPOINTS) this.#faults.inc({ endpoint }, 0);
    for (const change of ADMIN_CHANGES) this.#changes.inc({ change }, 0);
    for (const reason of ADMIN_REFUSALS) this.#refused.inc({ reason }, 0);
  }

  changed({ what }: AdminChange): void {
    this.#changes.inc({ change: what });
  }

  failed(endpoint: AdminEndpoint): void {
    this.#faults.inc({ endpoint });
  }

  refused(reason: AdminRefusal): void {
    this.#refused.inc({ reason });
  }
}

/** Registers which version runs, and on which Node.js. */
export function observeBuild(registry: Registry): void {
  const info = new Gauge({
    name: 'weir_build_info',
    help: 'Always 1; the labels name the version of Weir and of Node.js.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  info.set({ version: readVersion(), node: process.versions.node }, 1);
}
