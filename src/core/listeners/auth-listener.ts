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
  /** A signature was checked. `algorithm` is one of a short list. */
  signatureChecked(algorithm: string, good: boolean): void;
  /**
   * A token was refused, perhaps because it was remembered as bad. `reason` is one of a closed list, fit for a metric's label;
   * `claim` names the claim that is missing or of the wrong type, if that is the reason.
   */
  tokenRefused(reason: string, claim: string | null): void;
  /** A token could not be judged because its key is not known yet. */
  tokenUndecided(): void;
  /** A signature was not checked because the address has used up its budget of failed verifications. */
  budgetSpent(): void;
  /** The issuer's keys were fetched: how many can verify tokens, how many were left out, and which of these are flawed. */
  keySetLoaded(usable: number, unusable: number, flawed: readonly FlawedKey[]): void;
  /** The issuer's keys could not be fetched, or the response was not a key set. The keys held stay in use. */
  keySetFailed(cause: unknown): void;
  /** A subject's not-before mark was evicted because the table was full: its older tokens may be accepted again. */
  markEvicted(): void;
}
