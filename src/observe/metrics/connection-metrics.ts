import type { Registry } from 'prom-client';
import type { ConnectionListener, HandshakeOutcome, Http2Fault, ProxyHeaderFault } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

const PROXY_HEADER_FAULTS = {
  name: 'weir_proxy_header_faults_total',
  help: 'Connections closed because of their PROXY header, by reason: untrusted_peer, missing, broken, late.',
  labelNames: ['reason'],
} as const;

const HANDSHAKES = {
  name: 'weir_tls_handshakes_total',
  help: 'TLS handshakes with clients, by listener and outcome: full, resumed, or why they failed (timeout, capacity, cleartext, no_overlap, client_certificate, rejected, closed, malformed).',
  labelNames: ['listener', 'outcome'],
} as const;

const HTTP2_FAULTS = {
  name: 'weir_http2_faults_total',
  help: 'Connections over HTTP/2 closed because of what their client sent, by reason: resets, unexplained_bytes, control_frames, continuations, invalid_frames, refused_streams, protocol.',
  labelNames: ['reason'],
} as const;

/** Counts how connections begin, and those that were closed for what their client sent. */
export class ConnectionMetrics implements ConnectionListener {
  readonly #proxyHeaderFaults: Tally;
  readonly #handshakes: Tally;
  readonly #http2Faults: Tally;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#proxyHeaderFaults = tallyCounter({ ...PROXY_HEADER_FAULTS, registers });
    this.#handshakes = tallyCounter({ ...HANDSHAKES, registers });
    this.#http2Faults = tallyCounter({ ...HTTP2_FAULTS, registers });
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
