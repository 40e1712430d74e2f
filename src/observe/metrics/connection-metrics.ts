import type { Registry } from 'prom-client';
import type { ConnectionListener, HandshakeOutcome, Http2Fault, ProxyHeaderFault } from '../../core/index.ts';
import type { LabelModel } from './label-model.ts';
import { HANDSHAKE_OUTCOMES, HTTP2_FAULTS, PROXY_HEADER_FAULTS } from './label-values.ts';
import { prepareSeries } from './prepare-series.ts';
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

  http2Closed(fault: Http2Fault): void {
    this.#http2Faults.of(fault).count++;
  }
}
