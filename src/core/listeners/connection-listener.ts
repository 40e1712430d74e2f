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
 * - `cleartext`: the client did not speak TLS
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

/**
 * Why a connection over HTTP/2 was closed:
 * - `resets`: too many of its streams ended by a reset, the client's or one that it provoked
 * - `unexplained_bytes`: too much came that is part of no request and acknowledges no response, such as PING or WINDOW_UPDATE
 * - `control_frames`: it sent PING or SETTINGS faster than they can be acknowledged
 * - `continuations`: a header block in too many frames
 * - `invalid_frames`: too many frames that are invalid or empty
 * - `refused_streams`: too many streams past the maximum
 * - `protocol`: any other violation of RFC 9113
 */
export type Http2Fault =
  | 'resets'
  | 'unexplained_bytes'
  | 'control_frames'
  | 'continuations'
  | 'invalid_frames'
  | 'refused_streams'
  | 'protocol';

/** Hears how connections begin and end. Called for each of them: must be quick and must not throw. */
export interface ConnectionListener {
  /** @param peer address of the connection's other end */
  proxyHeaderRefused(fault: ProxyHeaderFault, peer: string): void;
  /** @param listener its key under `listen` */
  handshakeEnded(listener: string, outcome: HandshakeOutcome): void;
  http2Closed(fault: Http2Fault): void;
}
