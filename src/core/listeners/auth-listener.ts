import type { GatewayError } from '../error.ts';

/** Why a token is refused: a closed list, so it can be a metric label. Never shown to the client. */
export type InvalidReason =
  /** The scheme is not one of those configured. */
  | 'scheme'
  /** Nothing follows the scheme. */
  | 'credentials'
  /** Longer than any token may be. */
  | 'length'
  /** Not a compact JWS of JSON objects (RFC 7515, 7.1). */
  | 'malformed'
  /** `alg` is not asymmetric, or does not fit the key that `kid` names. */
  | 'algorithm'
  /** Has a `crit` header, which demands an extension; the gateway supports none. */
  | 'critical'
  /** A required claim is missing or of the wrong type. */
  | 'claim'
  | 'issuer'
  | 'audience'
  | 'expired'
  /** Lives longer than tokens may. */
  | 'lifetime'
  | 'not_yet_valid'
  | RevocationReason
  /** An ID, refresh or logout token. */
  | 'token_kind'
  /** Signed by a key that is not in the issuer's key set. */
  | 'unknown_key'
  | 'signature'
  /** The provider says that it is no longer valid (`introspection` of a route). */
  | 'inactive';

/** Why a token that was valid is not any more. */
export type RevocationReason =
  /** Issued before a not-before mark. */
  | 'not_before'
  /** Its session ended. */
  | 'signed_out';

/** The signature algorithms that are accepted, by their names in a token's `alg`. */
export type SignatureAlgorithm = `${'RS' | 'PS' | 'ES'}${256 | 384 | 512}` | 'EdDSA' | 'Ed25519' | 'Ed448';

/** A key that an issuer publishes for signatures and that is left out because it cannot or must not verify any. */
export interface FlawedKey {
  /** `kid`, its first 100 characters; null: it has none. */
  readonly keyId: string | null;
  /** In words that continue "the key has". */
  readonly flaw: string;
}

/** Hears what `auth/` finds. Learns nothing of a token but its algorithm and the reason for its refusal. */
export interface AuthListener {
  /** A token was found among those already verified. */
  tokenKnown(): void;
  /** A signature was checked. */
  signatureChecked(algorithm: SignatureAlgorithm, good: boolean): void;
  /**
   * A token was refused, perhaps because it was remembered as bad. `claim` names the claim that is missing or of the wrong type,
   * if that is the reason.
   */
  tokenRefused(reason: InvalidReason, claim: string | null): void;
  /** A token could not be judged because its key is not known yet. */
  tokenUndecided(): void;
  /** A signature was not checked because the address has used up its budget of failed verifications. */
  budgetSpent(): void;
  /** The issuer's keys were fetched: how many can verify tokens, how many were left out, and which of these are flawed. */
  keySetLoaded(usable: number, unusable: number, flawed: readonly FlawedKey[]): void;
  /** The issuer's keys could not be fetched, or the response was not a key set. The keys held stay in use. */
  keySetFailed(cause: unknown): void;
  /** A revocation was evicted because the table was full: every token as old as it is refused from now on. */
  revocationEvicted(): void;
}

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

/** What a provider tells the gateway unasked. */
export type NoticeKind = 'not_before_push' | 'back_channel_logout';

/**
 * What became of a notice. A closed list, so it can be a metric label.
 *
 * - `accepted`: it applies from now on
 * - `outdated`: it is genuine, but a newer one is known
 * - `refused`: it is not one that the provider sent for this gateway now
 * - `undecided`: its key could not be fetched; the provider may send it again
 * - `put_off`: its sender's address has sent too many bad ones
 */
export type NoticeOutcome = 'accepted' | 'outdated' | 'refused' | 'undecided' | 'put_off';

/** Why a notice is refused. `lifetime`: it would be valid for longer than its id is remembered. */
export type NoticeFlaw =
  | Exclude<InvalidReason, 'scheme' | 'credentials' | 'not_before' | 'signed_out' | 'inactive'>
  /** The body is not what the kind of notice demands. */
  | 'body'
  /** It names another action than this endpoint's. */
  | 'action'
  /** It was taken before. */
  | 'replayed';

export interface NoticeEvent {
  readonly kind: NoticeKind;
  readonly outcome: NoticeOutcome;
  /** Null: it was not refused. */
  readonly flaw: NoticeFlaw | null;
  /** The claim that is missing or of the wrong type; null: the flaw is another. */
  readonly claim: string | null;
  /** Of an accepted push, the mark in seconds since the epoch; else null. */
  readonly notBeforeS: number | null;
}

/** Hears of what providers tell. Learns no id, subject or session. */
export interface NoticeListener {
  noticeReceived(event: NoticeEvent): void;
}
