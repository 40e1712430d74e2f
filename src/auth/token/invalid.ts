/** Not a token that is valid now: 401 where one is required. */
export interface Invalid {
  readonly kind: 'invalid';
  readonly reason: InvalidReason;
  /** The claim that is missing or of the wrong type, where the reason is `claim`; a name from the rules, never from the token. */
  readonly claim: string | null;
}

/** Why a token is refused: a closed list, fit for a metric's label. Never shown to the client. */
export type InvalidReason =
  /** Another scheme than those configured. */
  | 'scheme'
  /** After the scheme comes nothing. */
  | 'credentials'
  /** Longer than any token may be. */
  | 'length'
  /** Not a compact JWS of JSON objects (RFC 7515 section 7.1). */
  | 'malformed'
  /** `alg` is none of the asymmetric ones, or not one of the key that `kid` names. */
  | 'algorithm'
  /** It has a `crit` header: an extension that must be understood, and none is. */
  | 'critical'
  /** A claim that is needed is missing or of the wrong type. */
  | 'claim'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  /** Issued before a not-before mark. */
  | 'not_before'
  /** Another kind of token than an access token: ID, refresh, logout. */
  | 'token_kind'
  /** Signed by a key that the issuer does not show. */
  | 'unknown_key'
  | 'signature';

const made = new Map<InvalidReason, Invalid>();

/** The refusal for that reason; one object per reason, since floods of them must be cheap. */
export function invalid(reason: Exclude<InvalidReason, 'claim'>): Invalid {
  const known = made.get(reason);
  if (known !== undefined) return known;
  const refusal = Object.freeze({ kind: 'invalid', reason, claim: null } as const);
  made.set(reason, refusal);
  return refusal;
}

/** The refusal for a claim that is missing or of the wrong type. */
export function lacking(claim: string): Invalid {
  return { kind: 'invalid', reason: 'claim', claim };
}
