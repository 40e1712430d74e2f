import { type Clock, type ConnectionListener, errorStack, type ProxyHeaderFault } from '../../core/index.ts';
import type { Logger } from './logging.ts';
import { OncePerInterval } from './once-per-interval.ts';

const MESSAGES: Readonly<Record<ProxyHeaderFault, string>> = {
  untrusted_peer: 'closed connections from a peer that is not in trusted_proxies',
  missing: 'closed connections without a PROXY header: check that the load balancer sends one',
  broken: 'closed connections with a broken PROXY header',
  late: 'closed connections whose PROXY header did not arrive in time',
};

/** Logs connections that never reached a request, and those that were closed for lack of memory. */
export function connectionLog(log: Logger, clock: Clock): Partial<ConnectionListener> {
  /** Anyone who reaches the port can cause these lines. */
  const counts = new OncePerInterval(clock);
  return {
    proxyHeaderRefused(reason, address) {
      const connections = counts.count(reason);
      if (connections > 0) log.warn({ type: 'proxy', reason, address, connections }, MESSAGES[reason]);
    },
    buffersFull(ended, bytes) {
      const times = counts.count('buffersFull');
      if (times === 0) return;
      const message =
        'ended connections of clients that do not read: more waited for them than caps.buffered';
      log.warn({ type: 'caps', cap: 'buffered', ended, bytes, times }, message);
    },
  };
}

/**
 * Makes a function that logs errors thrown by a gateway's observer, because metrics, the log or spans then lack that event. Never
 * throws, even if the log itself failed.
 */
export function listenerFaults(log: Logger, clock: Clock): (method: string, fault: unknown) => void {
  /** A listener that throws may do so for every request. */
  const counts = new OncePerInterval(clock);
  return (method, fault) => {
    try {
      const faults = counts.count(method);
      if (faults === 0) return;
      const line = { type: 'fault', side: 'gateway', method, faults, cause: errorStack(fault) };
      log.error(line, 'metrics or logs lack an event, because their code failed');
    } catch {
      // Reporting has failed as well, so do nothing.
    }
  };
}
