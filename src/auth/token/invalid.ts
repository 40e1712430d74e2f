/** The token is not valid now: 401 on routes that require one. */
export interface Invalid {
  readonly kind: 'invalid';
  readonly reason: InvalidReason;
  /** With the reason `claim`, the claim that is missing or of the wrong type. Named by our rules, never by the token. */
  readonly claim: string | null;
}

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
  | 'not_yet_valid'
  /** Issued before a not-before mark. */
  | 'not_before'
  /** An ID, refresh or logout token. */
  | 'token_kind'
  /** Signed by a key that is not in the issuer's key set. */
  | 'unknown_key'
  | 'signature';

const made = new Map<InvalidReason, Invalid>();

/** The refusal for that reason. One shared object per reason keeps floods cheap. */
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
