import type { InvalidReason } from '../../core/index.ts';

/** The token is not valid now: 401 on routes that require one. */
export interface Invalid {
  readonly kind: 'invalid';
  readonly reason: InvalidReason;
  /** With the reason `claim`: the claim that is missing or of the wrong type. A name from our rules, never from the token. */
  readonly claim: string | null;
  /** The token's principal, for the log only, if its signature was checked and is good; else `null`. */
  readonly principal: string | null;
}

const made = new Map<InvalidReason, Invalid>();

/** The refusal for that reason. One shared object per reason keeps floods cheap. */
export function invalid(reason: Exclude<InvalidReason, 'claim'>): Invalid {
  const known = made.get(reason);
  if (known !== undefined) return known;
  const refusal = Object.freeze({ kind: 'invalid', reason, claim: null, principal: null } as const);
  made.set(reason, refusal);
  return refusal;
}

/** The refusal for a claim that is missing or of the wrong type. */
export function lacking(claim: string): Invalid {
  return { kind: 'invalid', reason: 'claim', claim, principal: null };
}
