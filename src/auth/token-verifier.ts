import { hash } from 'node:crypto';
import type { RevocationReason } from '../core/index.ts';
import type { Caller } from './caller.ts';
import type { Invalid } from './token/index.ts';
import type { Verdict } from './verdict.ts';

/** Turns tokens into callers: those of one issuer (`Verifier`), or of several (`IssuerVerifiers`). */
export interface TokenVerifier {
  /**
   * @param token what `readBearer` returned
   * @param address the key of the client's address, whose budget pays for failures
   */
  verify(token: string, address: string): Verdict | Promise<Verdict>;

  /** The caller of a token that was verified before and is still accepted; null: it would have to be verified. */
  remembered(token: string): Caller | null;

  /**
   * Announces a refusal and returns it. Also for those of `readBearer`, which leave nothing to verify.
   *
   * @param caller whose token had been accepted; left out: it was not
   */
  refuse(refusal: Invalid, caller?: Caller): Invalid;

  /**
   * Whether this caller's token is still accepted, which is announced. For code that remembers a caller together with its
   * token.
   */
  accepts(caller: Caller): boolean;

  /** Why the caller's token was revoked; null: it was not. Also used to end streams in progress. */
  revocationOf(caller: Caller): RevocationReason | null;
}

/** The key under which a token is remembered: the token itself is a secret, and longer. */
export function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
