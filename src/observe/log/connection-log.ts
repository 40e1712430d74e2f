import type { Clock, ConnectionListener, ProxyHeaderFault } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** Anyone who reaches the port can cause these lines: each reason is logged once per interval, with the number of connections. */
const INTERVAL_MS = 60_000;

const MESSAGES: Readonly<Record<ProxyHeaderFault, string>> = {
  untrusted_peer: 'closed connections from a peer that is not in trusted_proxies',
  missing: 'closed connections without a PROXY header: check that the load balancer sends one',
  broken: 'closed connections with a broken PROXY header',
  late: 'closed connections whose PROXY header did not arrive in time',
};

/** Connections closed for one reason. */
interface Series {
  /** Last logged, by the monotonic clock. */
  loggedAtMs: number;
  /** Since then. */
  connections: number;
}

/** Logs connections that never came to a request. */
export class ConnectionLog implements Partial<ConnectionListener> {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #series = new Map<ProxyHeaderFault, Series>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void {
    const nowMs = this.#clock.monotonicMs();
    const series = this.#series.get(fault) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, connections: 0 };
    series.connections++;
    this.#series.set(fault, series);
    if (nowMs - series.loggedAtMs < INTERVAL_MS) return;
    const { connections } = series;
    this.#log.warn({ type: 'proxy', reason: fault, address: peer, connections }, MESSAGES[fault]);
    series.loggedAtMs = nowMs;
    series.connections = 0;
  }
}
