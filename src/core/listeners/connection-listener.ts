/**
 * Why a listener for the PROXY protocol closed a connection:
 * - `untrusted_peer`: it comes from no trusted proxy
 * - `missing`: it begins with something else
 * - `broken`: its header is not valid, or it ended inside the header
 * - `late`: its header did not come in time
 */
export type ProxyHeaderFault = 'untrusted_peer' | 'missing' | 'broken' | 'late';

/** Hears of connections that never came to a request. Called for each of them: must be quick and must not throw. */
export interface ConnectionListener {
  /** @param peer address of the connection's other end */
  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void;
}
