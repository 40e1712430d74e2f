import type { GatewayError } from '../error.ts';

/** What a client trades for tokens. */
export type GrantKind = 'code' | 'refresh_token';

/**
 * How an attempt to trade a code or a refresh token for tokens ended. Every attempt has exactly one outcome. The list is closed, fit for a metric's
 * label.
 *
 * - `success`: the client has its tokens
 * - `bad_body`: the request's body was wrong; the provider was not asked
 * - `code_refused`: the provider refused the code or its redirect URI
 * - `token_refused`: the provider refused the refresh token
 * - `gateway_refused`: the provider refused the gateway itself (wrong secret, wrong client): page someone
 * - `not_ready`: the provider's endpoints are not known yet; the provider was not asked
 * - `overloaded`: too many requests to the provider were in flight; the provider was not asked
 * - `unreachable`: no connection to the provider; not a byte of the code or token was sent
 * - `timed_out`: the provider did not finish in time; the code or token may be spent
 * - `broken`: the provider failed, or its response broke off or makes no sense; the code or token may be spent
 * - `fault`: a fault of the gateway itself
 */
export type RedeemOutcome =
  | 'success'
  | 'bad_body'
  | 'code_refused'
  | 'token_refused'
  | 'gateway_refused'
  | 'not_ready'
  | 'overloaded'
  | 'unreachable'
  | 'timed_out'
  | 'broken'
  | 'fault';

export interface RedeemEvent {
  readonly grant: GrantKind;
  readonly outcome: RedeemOutcome;
  /** From the end of the request's body to the response. */
  readonly durationMs: number;
  /** The error sent to the client; its `cause` is safe to log. Null after `success`. */
  readonly error: GatewayError | null;
}

/** How the provider's part of a sign-out ended; the session's access tokens are refused in any case but `bad_body`. */
export type SignOutOutcome = Exclude<RedeemOutcome, 'code_refused'>;

export interface SignOutEvent {
  readonly outcome: SignOutOutcome;
  /** From the end of the request's body to the response. */
  readonly durationMs: number;
  /** The error sent to the client; its `cause` is safe to log. Null after `success`. */
  readonly error: GatewayError | null;
}

/**
 * What came of asking the provider whether a token is still valid. The list is closed, fit for a metric's label; failures are
 * those of `RedeemOutcome`.
 */
export type IntrospectionOutcome =
  | 'active'
  | 'inactive'
  | Extract<
      RedeemOutcome,
      'gateway_refused' | 'not_ready' | 'overloaded' | 'unreachable' | 'timed_out' | 'broken' | 'fault'
    >;

export interface IntrospectionEvent {
  readonly outcome: IntrospectionOutcome;
  readonly durationMs: number;
  /** The error sent to the client; its `cause` is safe to log. Null: the provider has answered. */
  readonly error: GatewayError | null;
}

/** One attempt to learn the provider's endpoints. */
export interface DiscoveryEvent {
  /**
   * - `learnt`: endpoints are known for the first time, or have changed
   * - `confirmed`: they have not changed
   * - `failed`: whatever was known before stays in use
   */
  readonly outcome: 'learnt' | 'confirmed' | 'failed';
  /** Attempts that failed in a row, this one included; 0 after a good one. */
  readonly failures: number;
  /** Until the next attempt. */
  readonly nextMs: number;
  /** Whether endpoints are known, from this attempt or an earlier one. */
  readonly ready: boolean;
  /** Why it failed, safe to log; null if it did not. */
  readonly cause: Error | null;
}

/** Hears what happens in `signin/`. No event contains a code, a token, a secret or a redirect URI. */
export interface SignInListener {
  redeemed(event: RedeemEvent): void;
  signedOut(event: SignOutEvent): void;
  /** The provider was asked, or could not be; nothing is said of answers that are remembered. */
  introspected(event: IntrospectionEvent): void;
  discovered(event: DiscoveryEvent): void;
}
