import type { Caller, TokenVerifier } from '../auth/index.ts';
import type { Clock, GatewayError, RevocationReason } from '../core/index.ts';
import type { Limiting } from '../runtime/index.ts';
import { ADDRESS_BLOCKED, addressRestricted, CALLER_BLOCKED, callerRestricted } from './responses/index.ts';

// What is under way goes on only while its sender may: asked now and then, of exchanges and of what they became.

/** Why a token that was valid no longer counts. */
export type TokenFlaw = 'expired' | RevocationReason;

/** The block or the restriction that a sender is under; null if absent. */
export function restrictionOf(
  addressKey: string,
  caller: Caller | null,
  { restrictions, blocked }: Limiting,
): GatewayError | null {
  if (blocked?.hasAddress(addressKey)) return ADDRESS_BLOCKED;
  if (caller !== null && blocked?.hasCaller(caller.principal)) return CALLER_BLOCKED;
  const waitMs = restrictions.addressWaitMs(addressKey);
  if (waitMs > 0)
    return addressRestricted(waitMs, restrictions.reasonFor({ kind: 'address', key: addressKey }));
  if (caller === null) return null;
  const { principal: key } = caller;
  const callerWaitMs = restrictions.principalWaitMs(key);
  if (callerWaitMs === 0) return null;
  return callerRestricted(callerWaitMs, restrictions.reasonFor({ kind: 'principal', key }));
}

/** What is wrong by now with the token of a caller; null: nothing. */
export function flawOf(
  caller: Caller,
  verifier: TokenVerifier,
  closeAtExpiry: boolean,
  clock: Clock,
): TokenFlaw | null {
  if (closeAtExpiry && clock.epochMs() >= caller.expiresAtMs) return 'expired';
  return verifier.revocationOf(caller);
}
