/**
 * What went wrong between the gateway and the provider.
 *
 * - `unreachable`: no connection (refused, unknown name, failed TLS handshake, or not in time)
 * - `timed_out`: connected, but the response was not complete in time
 * - `reset`: the connection broke before the response was complete
 * - `too_large`: the response is longer than allowed
 * - `malformed`: the response is not HTTP
 * - `refused`: the response is a refusal, by its status or its `error`
 * - `nonsense`: the response claims success but cannot be used
 */
export type FaultKind =
  | 'unreachable'
  | 'timed_out'
  | 'reset'
  | 'too_large'
  | 'malformed'
  | 'refused'
  | 'nonsense';

/**
 * The errors of the provider that the gateway tells apart: those of RFC 6749, 5.2, those meant for other endpoints
 * (RFC 6749, 4.1.2.1; RFC 6750, 3.1; RFC 7009, 2.2.1; RFC 8628; OpenID Connect Core 1.0, 3.1.2.6), and Google's own for a wrong redirect URI.
 */
const OAUTH_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'interaction_required',
  'redirect_uri_mismatch',
  'invalid_token',
  'unsupported_token_type',
] as const;

export type OAuthError = (typeof OAUTH_ERRORS)[number] | 'another';

/** The provider's error if it is a known word, else `another`. */
export function oauthError(word: string): OAuthError {
  return OAUTH_ERRORS.find(known => known === word) ?? 'another';
}

/**
 * A failed request to the provider, safe to log. Made only from what this room knows and never from what a library threw:
 * library errors carry responses, request bodies and (`SyntaxError`) the first characters of a token.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** The status of the provider's response, or `null`. */
  readonly status: number | null;
  /** The OAuth error in the provider's response, or `null`. */
  readonly error: OAuthError | null;

  constructor(
    kind: FaultKind,
    message: string,
    response?: { readonly status: number; readonly error?: OAuthError },
  ) {
    // Skip the stack trace: these are expected, one for each refused code.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.kind = kind;
    this.status = response?.status ?? null;
    this.error = response?.error ?? null;
  }
}
