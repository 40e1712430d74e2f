import type { GatewayError } from '../error.ts';

// The lists here are closed: their words are values of metric labels and in log lines.

/** The consequences of a reason for refusing tokens. */
interface RefusalTraits {
  /** Such a token is genuine, so the log names its caller, who will ask for the reason. */
  readonly namesCaller?: true;
  /** The reason concerns a token that is, or must be, bound to a key (RFC 9449); usually its proof in `DPoP`. */
  readonly ofProof?: true;
  /**
   * What operators have to change if clients get such tokens regularly: a key of gateway.yaml, or a setting of the provider. Absent
   * if there is no such single place.
   */
  readonly change?: string;
}

const OWN_TOKENS =
  'no published key made the signature: the tokens are for the provider itself. Ask it for tokens for an API, at Okta from a custom authorization server';

/** Why a token is refused. Never shown to the client. */
const REFUSALS = {
  /** The scheme is not one of those configured. */
  scheme: {},
  /** Nothing follows the scheme. */
  credentials: {},
  /** Longer than `access_tokens.max_length`. The client is told as well: the same token will not be shorter next time. */
  too_long: { change: 'access_tokens.max_length' },
  /** Not a compact JWS of JSON objects (RFC 7515, 7.1). */
  malformed: {
    change:
      'the provider issues no JWT, or an encrypted one: ask it for tokens for an API, with its audience, or set access_tokens.opaque_tokens',
  },
  /** `alg` is not asymmetric, or does not match the key that `kid` names. */
  algorithm: { change: 'the algorithm that the provider signs access tokens with' },
  /** Has a `crit` header, which demands an extension; the gateway supports none. */
  critical: {},
  /** A required claim is missing or of the wrong type. */
  claim: { change: 'access_tokens.principal' },
  issuer: { change: 'identity_provider.issuer' },
  audience: { namesCaller: true, change: 'access_tokens.audience' },
  expired: { namesCaller: true },
  /** Lives longer than tokens may. */
  lifetime: { namesCaller: true, change: 'access_tokens.max_lifetime' },
  not_yet_valid: { namesCaller: true, change: 'access_tokens.leeway' },
  /** Was valid, but is older than a not-before mark. */
  not_before: { namesCaller: true, change: 'access_tokens.not_before' },
  /** Was valid until a sign-out. */
  signed_out: { namesCaller: true },
  /** An ID, refresh or logout token. */
  token_kind: { change: 'access_tokens.audience or access_tokens.token_kind' },
  /** Signed by a key that is not in the issuer's key set. */
  unknown_key: { change: OWN_TOKENS },
  signature: { change: OWN_TOKENS },
  /** Bound by `cnf` to something that the gateway cannot check: neither a certificate nor, with `dpop`, a key. */
  confirmation: { namesCaller: true },
  /** Bound to a client certificate that the request did not present (RFC 8705). */
  certificate: {},
  /** Not valid, or no longer, according to the provider (`introspection` of a route, `opaque_tokens`). */
  inactive: {},
  /** An API key that is not in the file. */
  unknown_api_key: {},
  /** Bound to no key, but sent with the scheme DPoP, or where only bound tokens are accepted. */
  unbound: { ofProof: true },
  /** Bound to a key, but sent with a scheme other than DPoP. */
  proof_scheme: { ofProof: true },
  proof_missing: { ofProof: true },
  /**
   * Several proofs, one that is too long or not a signed JWT with a public key, or one that lacks a member that every proof has.
   */
  proof_malformed: { ofProof: true },
  /** `alg` is not an accepted one, or does not fit the key. */
  proof_algorithm: { ofProof: true },
  /** Made with another key than the token's, or with one that is too weak. */
  proof_key: { ofProof: true },
  /** Made for another method or URL. */
  proof_target: { ofProof: true },
  /** Made for another token (`ath`). */
  proof_token: { ofProof: true },
  /** Made too long ago, or in the future. */
  proof_time: { ofProof: true },
  /** Without a nonce of the gateway, or with an old one. Happens once to every client. */
  proof_nonce: { ofProof: true },
  proof_signature: { ofProof: true },
  /** Used before. */
  proof_replayed: { ofProof: true },
} as const satisfies Readonly<Record<string, RefusalTraits>>;
export type InvalidReason = keyof typeof REFUSALS;
export const INVALID_REASONS = Object.keys(REFUSALS) as readonly InvalidReason[];
export type ProofReason = 'unbound' | Extract<InvalidReason, `proof_${string}`>;

export function traitsOf(reason: InvalidReason): RefusalTraits {
  return REFUSALS[reason];
}

/** Why a token that was valid no longer is. */
export type RevocationReason = 'not_before' | 'signed_out';

/** Why a token that was valid when its WebSocket was opened is now refused. */
export type TokenEnd = 'expired' | 'inactive' | RevocationReason;

/** The reason in the Close frame of a WebSocket when its token has ended. */
export const CLOSE_TEXTS: Readonly<Record<TokenEnd, string>> = {
  expired: 'token expired',
  inactive: 'token revoked',
  not_before: 'token revoked',
  signed_out: 'token revoked',
};

/** The accepted signature algorithms, by their names in a token's `alg`. */
export const SIGNATURE_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'Ed448'] as const),
] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** A key that an issuer publishes for signatures, but which is omitted because it cannot or must not verify any. */
export interface FlawedKey {
  /** The first 100 characters of `kid`; `null` if the key has none. */
  readonly keyId: string | null;
  /** The flaw, in words that follow "the key has". */
  readonly flaw: string;
}

/** Is notified of the findings of `auth/`. Learns nothing about a token except its algorithm and why it was refused. */
export interface AuthListener {
  /** A token was found among verified ones. */
  tokenKnown(): void;
  signatureChecked(algorithm: SignatureAlgorithm, good: boolean): void;
  /**
   * A token was refused, perhaps because it was remembered as invalid. `claim` names the claim that is missing or of the wrong
   * type, if that is the reason.
   */
  tokenRefused(reason: InvalidReason, claim: string | null): void;
  /** A token could not be judged because its key is not known yet. */
  tokenUndecided(): void;
  /** A proof of possession was valid. */
  proofAccepted(): void;
  /** A signature was not checked because the address has used up its budget of failed verifications. */
  budgetSpent(): void;
  /** The issuer's keys were fetched: how many can verify tokens, how many were left out, and which of these are flawed. */
  keySetLoaded(usable: number, unusable: number, flawed: readonly FlawedKey[]): void;
  /** The issuer's keys could not be fetched, or the response was not a key set. The existing keys stay in use. */
  keySetFailed(cause: unknown): void;
  /** A revocation was evicted because the table was full: from now on every token as old is refused. */
  revocationEvicted(): void;
}

/** What a client exchanges for tokens. */
export type GrantKind = 'code' | 'refresh_token';

/** How the provider's part of an operation failed. */
const PROVIDER_FAILURES = [
  /** The provider refused the gateway itself (wrong secret, wrong client): alert an operator. */
  'gateway_refused',
  /** The provider's endpoints are not known yet; the provider was not asked. */
  'not_ready',
  /** Too many requests to the provider were in flight; the provider was not asked. */
  'overloaded',
  /** No connection to the provider, so it has not received the code or token. */
  'unreachable',
  /** The provider did not finish in time; the code or token may be used up. */
  'timed_out',
  /** The provider failed, or its response broke off or was invalid; the code or token may be used up. */
  'broken',
  /** A fault of the gateway itself. */
  'fault',
] as const;

/** The outcomes of exchanging a code or a refresh token for tokens. Every attempt has exactly one. */
export const REDEEM_OUTCOMES = [
  /** The client has its tokens. */
  'success',
  /** The request's body was wrong; the provider was not asked. */
  'bad_body',
  /** The provider refused the code or its redirect URI. */
  'code_refused',
  /** The provider refused the refresh token. */
  'token_refused',
  /** The proof that the client sent with the request is wrong, or must contain a nonce; the code or token was not used. */
  'proof_refused',
  ...PROVIDER_FAILURES,
] as const;
export type RedeemOutcome = (typeof REDEEM_OUTCOMES)[number];

export interface RedeemEvent {
  readonly grant: GrantKind;
  readonly outcome: RedeemOutcome;
  /** Time from the end of the request's body to the response. */
  readonly durationMs: number;
  /** The error sent to the client, `null` after `success`. Its `cause` is safe to log. */
  readonly error: GatewayError | null;
}

/**
 * The outcomes of the provider's part of a sign-out. Except for `bad_body`, the session's access tokens are refused from then on.
 */
export type SignOutOutcome = Exclude<RedeemOutcome, 'code_refused' | 'proof_refused'>;

export interface SignOutEvent {
  readonly outcome: SignOutOutcome;
  /** Time from the end of the request's body to the response. */
  readonly durationMs: number;
  /** The error sent to the client, `null` after `success`. Its `cause` is safe to log. */
  readonly error: GatewayError | null;
}

/** The outcomes of asking the provider whether a token is still valid. */
export const INTROSPECTION_OUTCOMES = ['active', 'inactive', ...PROVIDER_FAILURES] as const;
export type IntrospectionOutcome = (typeof INTROSPECTION_OUTCOMES)[number];

export interface IntrospectionEvent {
  readonly outcome: IntrospectionOutcome;
  readonly durationMs: number;
  /** The error sent to the client, `null` if the provider answered. Its `cause` is safe to log. */
  readonly error: GatewayError | null;
}

/** The outcomes of an attempt to learn the provider's endpoints. */
export const DISCOVERY_OUTCOMES = [
  /** Endpoints are known for the first time, or have changed. */
  'learnt',
  /** Endpoints have not changed. */
  'confirmed',
  /** Failed; previous endpoints stay in use. */
  'failed',
] as const;

export interface DiscoveryEvent {
  readonly outcome: (typeof DISCOVERY_OUTCOMES)[number];
  /** Consecutive failed attempts, including this one; 0 after a success. */
  readonly failures: number;
  /** Time until the next attempt. */
  readonly nextMs: number;
  /** Whether endpoints are known, from this attempt or an earlier one. */
  readonly ready: boolean;
  /** Why it failed, safe to log; `null` if it did not. */
  readonly cause: Error | null;
}

/** Is notified of events in `signin/`. No event contains a code, a token, a secret or a redirect URI. */
export interface SignInListener {
  redeemed(event: RedeemEvent): void;
  /** A client got an access token, which this gateway will refuse for this reason; `null` if it will not. */
  tokenHandedOut(refusal: { readonly reason: InvalidReason; readonly claim: string | null } | null): void;
  signedOut(event: SignOutEvent): void;
  /** The provider was asked, or could not be; not called for remembered answers. */
  introspected(event: IntrospectionEvent): void;
  discovered(event: DiscoveryEvent): void;
}

/** A notice that a provider sends on its own: a logout or a not-before time. */
export const NOTICE_KINDS = ['not_before_push', 'back_channel_logout'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

export const NOTICE_OUTCOMES = [
  /** The notice is in effect. */
  'accepted',
  /** The notice is genuine, but a newer one is known. */
  'outdated',
  /** A genuine logout that names only a session (`sid`), but the provider's access tokens have no `sid`: none of them ended. */
  'reached_none',
  /** The notice does not come from the provider, or is not for this gateway, or not valid now. */
  'refused',
  /** The key of the notice could not be fetched; the provider may send it again. */
  'undecided',
  /** The sender's address has sent too many invalid notices. */
  'put_off',
] as const;
export type NoticeOutcome = (typeof NOTICE_OUTCOMES)[number];

export interface NoticeEvent {
  readonly kind: NoticeKind;
  readonly outcome: NoticeOutcome;
  /** Why the notice was refused, in the words of `NOTICE_FLAWS` (identity/auth/notice-token.ts); `null` if it was not. */
  readonly flaw: string | null;
  /** The claim that is missing or of the wrong type; `null` for other flaws. */
  readonly claim: string | null;
  /** The mark of an accepted push, in seconds since the epoch; else `null`. */
  readonly notBeforeS: number | null;
}

/** Is notified of providers' notices. Learns no id, subject or session. */
export interface NoticeListener {
  noticeReceived(event: NoticeEvent): void;
}
