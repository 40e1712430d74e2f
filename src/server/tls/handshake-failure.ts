import type { HandshakeOutcome } from '../../core/index.ts';

/** What of an error's code tells why a handshake failed. The names of alerts are those that the client sent. */
const REASONS: readonly (readonly [pattern: RegExp, reason: HandshakeOutcome])[] = [
  [/^ECONNRESET$|^EPIPE$|^ERR_STREAM_PREMATURE_CLOSE$/, 'closed'],
  [/^ERR_SSL_(UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|WRONG_SSL_VERSION)$/, 'no_overlap'],
  [/^ERR_SSL_NO_(SHARED|SUITABLE|APPLICATION)_/, 'no_overlap'],
  [/^ERR_SSL_INAPPROPRIATE_FALLBACK$|NO_APPLICATION_PROTOCOL$/, 'no_overlap'],
  [/^ERR_SSL_(PEER_DID_NOT_RETURN_A_CERTIFICATE|CERTIFICATE_VERIFY_FAILED)$/, 'client_certificate'],
  [/^ERR_SSL_(TLSV1|TLSV13|SSLV3|SSL\/TLS)_ALERT_/, 'rejected'],
  [/^ERR_SSL_HTTP_REQUEST$/, 'cleartext'],
];

/**
 * Why a handshake failed, from the error that Node reports.
 *
 * @param isUnauthorized the client's certificate could not be verified: Node then closes without an error of its own
 */
export function handshakeFailure(error: Error, isUnauthorized: boolean): HandshakeOutcome {
  if (isUnauthorized) return 'client_certificate';
  const code = 'code' in error ? String(error.code) : '';
  return REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'malformed';
}
