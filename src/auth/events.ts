import type { Algorithm } from './algorithms.ts';
import type { Invalid } from './verdict.ts';

/** What this room announces. Nothing of a token but its algorithm and the reason of its refusal is ever among it. */
export interface AuthListener {
  /** A token was found among those already verified. */
  tokenKnown(): void;
  /** A signature was checked. */
  signatureChecked(algorithm: Algorithm, good: boolean): void;
  /** A token was refused, also when it was remembered as bad. */
  tokenRefused(refusal: Invalid): void;
  /** Whether a token is valid could not be told, since its key is not known yet. */
  tokenUndecided(): void;
  /** A check was not made, since the address has spent its budget of failed verifications. */
  budgetSpent(): void;
  /** The issuer's keys were fetched: how many can verify tokens, and how many were left out. */
  keySetLoaded(usable: number, unusable: number): void;
  /** The issuer's keys could not be fetched, or what came was no key set. The keys held stay in use. */
  keySetFailed(cause: unknown): void;
  /** A subject's not-before mark was forgotten for want of room, so its older tokens may pass again. */
  markEvicted(): void;
}
