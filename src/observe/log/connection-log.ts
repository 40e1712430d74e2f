import { type Clock, type ConnectionListener, errorStack, type ProxyHeaderFault } from '../../core/index.ts';
import type { Logger } from './logging.ts';
import { OncePerMinute } from './once-per-minute.ts';

const MESSAGES: Readonly<Record<ProxyHeaderFault, string>> = {
  untrusted_peer: 'closed connections from a peer that is not in trusted_proxies',
  missing: 'closed connections without a PROXY header: check that the load balancer sends one',
  broken: 'closed connections with a broken PROXY header',
  late: 'closed connections whose PROXY header did not arrive in time',
};

/** Logs connections that never came to a request. */
export class ConnectionLog implements Partial<ConnectionListener> {
  readonly #log: Logger;
  /** Anyone who reaches the port can cause these lines. */
  readonly #connections: OncePerMinute;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#connections = new OncePerMinute(clock);
  }

  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void {
    const connections = this.#connections.count(fault);
    if (connections > 0)
      this.#log.warn({ type: 'proxy', reason: fault, address: peer, connections }, MESSAGES[fault]);
  }
}

/** Logs that an observer of the gateway has thrown: metrics, the log or spans then lack that event. */
export class ListenerFaults {
  readonly #log: Logger;
  /** A listener that throws may do so for every request. */
  readonly #faults: OncePerMinute;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#faults = new OncePerMinute(clock);
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
    const faults = this.#faults.count(method);
    if (faults === 0) return;
    const cause = errorStack(fault);
    this.#log.error(
      { type: 'fault', side: 'gateway', method, faults, cause },
      'metrics or logs lack something: their code failed',
    );
  }
}
