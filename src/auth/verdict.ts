import type { Caller } from './caller.ts';
import type { Invalid } from './token/index.ts';

/** What a token was found to be; `kind` tells them apart. */
export type Verdict = Caller | Invalid | Unavailable | Spent;

/** Nobody can tell at the moment, since the key may be one that the issuer has not shown yet: 503. */
export interface Unavailable {
  readonly kind: 'unavailable';
  /** Whole seconds, at least 1. */
  readonly retryAfterS: number;
}

/** The address has spent its budget of failed verifications and the token is not a known one: a global 429. */
export interface Spent {
  readonly kind: 'spent';
  /** Until the budget's window closes, greater than 0. */
  readonly retryAfterMs: number;
}
