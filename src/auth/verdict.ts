import type { Caller } from './caller.ts';
import type { Invalid } from './token/index.ts';

/** The outcome of verifying a token, told apart by `kind`. */
export type Verdict = Caller | Invalid | Unavailable | Spent;

/** Undecided, because the token's key may be too new to be in the key set we have: 503. */
export interface Unavailable {
  readonly kind: 'unavailable';
  /** Whole seconds, at least 1. */
  readonly retryAfterS: number;
}

/** The address has spent its budget of failed verifications, and the token is not a known one: a global 429. */
export interface Spent {
  readonly kind: 'spent';
  /** Until the budget's window closes; above 0. */
  readonly retryAfterMs: number;
}
