import type { Registry } from 'prom-client';
import type { ConnectionListener, ProxyHeaderFault } from '../../core/index.ts';
import { type Tally, tallyCounter } from './tally.ts';

const PROXY_HEADER_FAULTS = {
  name: 'weir_proxy_header_faults_total',
  help: 'Connections closed because of their PROXY header, by reason: untrusted_peer, missing, broken, late.',
  labelNames: ['reason'],
} as const;

/** Counts connections that never came to a request. */
export class ConnectionMetrics implements ConnectionListener {
  readonly #proxyHeaderFaults: Tally;

  constructor(registry: Registry) {
    this.#proxyHeaderFaults = tallyCounter({ ...PROXY_HEADER_FAULTS, registers: [registry] });
  }

  proxyHeaderRefused(fault: ProxyHeaderFault): void {
    this.#proxyHeaderFaults.of(fault).count++;
  }
}
