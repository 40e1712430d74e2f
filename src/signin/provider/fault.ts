/**
 * What went wrong between the gateway and the provider.
 *
 * - `unreachable`: no connection was made (refused, unknown name, TLS handshake, or out of time before that)
 * - `timed_out`: a connection was made, the whole answer did not come in time
 * - `reset`: the connection broke before the answer was whole
 * - `too_large`: the answer is longer than allowed
 * - `malformed`: what came is not HTTP
 * - `refused`: an answer that says no, by its status or its `error`
 * - `nonsense`: an answer that ought to be good and cannot be used
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
 * The errors of a token endpoint that the gateway tells apart: those of RFC 6749 section 5.2, of other endpoints (RFC 6749
 * section 4.1.2.1, RFC 8628, OpenID Connect Core 1.0 section 3.1.2.6), and Google's own for a redirect URI.
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
] as const;

export type OAuthError = (typeof OAUTH_ERRORS)[number] | 'another';

/** The error that a provider names, which is the exact word or `another`. */
export function oauthError(word: string): OAuthError {
  return OAUTH_ERRORS.find(known => known === word) ?? 'another';
}

/**
 * A failed request to the provider, in words that may be logged: it is made of what this room knows, never of what a
 * library threw. Their errors carry answers, request bodies and (`SyntaxError`) the first characters of a token.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** Status of the provider's answer; null where there was none. */
  readonly status: number | null;
  /** OAuth error of the provider's answer; null where there was none. */
  readonly error: OAuthError | null;

  constructor(
    kind: FaultKind,
    message: string,
    answer?: { readonly status: number; readonly error?: OAuthError },
  ) {
    // Expected, and made for each refused code: where it was made says nothing.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.kind = kind;
    this.status = answer?.status ?? null;
    this.error = answer?.error ?? null;
  }
}
