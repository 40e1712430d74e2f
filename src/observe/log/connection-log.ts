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

/** A listener that throws may do so for every request: each kind of call is logged once per interval, with the number of faults. */
const FAULT_INTERVAL_MS = 60_000;

/** Faults in one kind of call. */
interface FaultSeries {
  /** Last logged, by the monotonic clock. */
  loggedAtMs: number;
  /** Since then. */
  faults: number;
}

/** Logs that an observer of the gateway has thrown: metrics, the log or spans then lack that event. */
export class ListenerFaults {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #series = new Map<string, FaultSeries>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Never throws, even if it is the log that failed. */
  readonly note = (method: string, fault: unknown): void => {
    try {
      this.#note(method, fault);
    } catch {
      // There is no one left to tell.
    }
  };

  #note(method: string, fault: unknown): void {
    const nowMs = this.#clock.monotonicMs();
    const series = this.#series.get(method) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, faults: 0 };
    series.faults++;
    this.#series.set(method, series);
    if (nowMs - series.loggedAtMs < FAULT_INTERVAL_MS) return;
    const cause = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    const { faults } = series;
    series.loggedAtMs = nowMs;
    series.faults = 0;
    this.#log.error(
      { type: 'fault', side: 'gateway', method, faults, cause },
      'metrics or logs lack something: their code failed',
    );
  }
}
