import { type Fields, type InvalidReason, traitsOf } from '../../core/index.ts';
import { type Invalid, PROOF_ALGORITHMS, type ProofOptions } from '../../identity/auth/index.ts';

/** The name of the challenge field, as errors spell it. */
export const CHALLENGE = 'WWW-Authenticate';

/** What a challenge depends on besides the token. */
export interface Challenged {
  /** The rules for tokens that are bound to a key; `null` if there are none. */
  readonly dpop: ProofOptions | null;
  /** Whether the token was sent with the scheme `DPoP`. */
  readonly usesDpop: boolean;
}

/** For gateways that accept only plain Bearer tokens. */
export const OF_BEARER: Challenged = { dpop: null, usesDpop: false };

/** The error code for a bad proof (RFC 9449, 7.1 and 9); `null` if the token is to blame. */
export function proofErrorOf(reason: InvalidReason): 'use_dpop_nonce' | 'invalid_dpop_proof' | null {
  if (reason === 'proof_nonce') return 'use_dpop_nonce';
  return traitsOf(reason).ofProof && !OF_BINDING.has(reason) ? 'invalid_dpop_proof' : null;
}

/** Reasons that concern the binding of a token: the client needs another token, or another scheme for this one. */
const OF_BINDING: ReadonlySet<InvalidReason> = new Set(['unbound', 'proof_scheme']);

/** The challenges of a 401: one for each accepted scheme. The error stands in the challenge of the scheme that the client used. */
export function challenges(refused: Invalid | null, { dpop, usesDpop }: Challenged): Fields {
  const error = errorOf(refused);
  if (dpop === null) return bearer(error);
  // A bound token sent as Bearer, or an unbound one where only bound ones are accepted, requires DPoP.
  const isOfDpop = usesDpop || dpop.required || refused?.reason === 'proof_scheme';
  const bound = [...(isOfDpop ? error : []), `algs="${PROOF_ALGORITHMS.join(' ')}"`];
  return [...(dpop.required ? [] : bearer(isOfDpop ? [] : error)), CHALLENGE, `DPoP ${bound.join(', ')}`];
}

function bearer(error: readonly string[]): Fields {
  return [CHALLENGE, ['Bearer', error.join(', ')].filter(part => part !== '').join(' ')];
}

/** A client that sent no token, or one under another scheme, gets no error code (RFC 6750, 3.1). */
function errorOf(refused: Invalid | null): readonly string[] {
  if (refused === null || refused.reason === 'scheme' || refused.reason === 'credentials') return [];
  if (refused.reason === 'too_long')
    return ['error="invalid_token"', 'error_description="the token is too long"'];
  return [`error="${proofErrorOf(refused.reason) ?? 'invalid_token'}"`];
}
