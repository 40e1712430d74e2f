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
