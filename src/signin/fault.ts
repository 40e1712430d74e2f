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
 * A failed request to the provider, in words that may be logged: it is made of what this room knows, never of what a
 * library threw. Their errors carry answers, request bodies and (`SyntaxError`) the first characters of a token.
 */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly kind: FaultKind;
  /** Status of the provider's answer; null where there was none. */
  readonly status: number | null;
  /** OAuth error of the provider's answer (`invalid_grant`); null where there was none. */
  readonly error: string | null;

  constructor(
    kind: FaultKind,
    message: string,
    answer?: { readonly status: number; readonly error?: string },
  ) {
    super(message);
    this.kind = kind;
    this.status = answer?.status ?? null;
    this.error = answer?.error ?? null;
  }
}
