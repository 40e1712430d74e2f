declare const served: unique symbol;

/**
 * Proof that an exchange was answered, or that something was started that will answer it. Every terminal returns it, so the
 * compiler refuses one that forgets to answer.
 */
export interface Served {
  readonly [served]: true;
}

/**
 * For code that writes a response, and for code that hands the exchange to something that answers it later. Say beside each
 * use what that is.
 */
export const SERVED = {} as Served;
