/**
 * Why a listener for the PROXY protocol closed a connection:
 * - `untrusted_peer`: it comes from no trusted proxy
 * - `missing`: it begins with something else
 * - `broken`: its header is not valid, or it ended inside the header
 * - `late`: its header did not come in time
 */
export type ProxyHeaderFault = 'untrusted_peer' | 'missing' | 'broken' | 'late';

/**
 * How a TLS handshake ended:
 * - `full`, `resumed`: well, with a new session or an earlier one
 * - `timeout`: it took too long
 * - `capacity`: there was no room for the connection, or more handshakes than `caps.tls_handshakes` were under way
 * - `cleartext`: what came is not TLS
 * - `no_overlap`: no version, cipher or protocol is spoken by both
 * - `client_certificate`: the client sent none, or one that cannot be verified
 * - `rejected`: the client broke it off with an alert, for example as it does not trust the certificate
 * - `closed`: the client closed the connection
 * - `malformed`: anything else that breaks TLS
 */
export type HandshakeOutcome =
  | 'full'
  | 'resumed'
  | 'timeout'
  | 'capacity'
  | 'cleartext'
  | 'no_overlap'
  | 'client_certificate'
  | 'rejected'
  | 'closed'
  | 'malformed';

/** Hears how connections begin. Called for each of them: must be quick and must not throw. */
export interface ConnectionListener {
  /** @param peer address of the connection's other end */
  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void;
  /** @param listener its key under `listen` */
  handshakeEnded(listener: string, outcome: HandshakeOutcome): void;
}
