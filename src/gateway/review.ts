import type { Caller, TokenVerifier } from '../auth/index.ts';
import type { Clock, GatewayError, RevocationReason } from '../core/index.ts';
import type { KnownClient } from '../limits/index.ts';
import type { Limiting } from '../runtime/index.ts';
import { ADDRESS_BLOCKED, addressRestricted, CALLER_BLOCKED, callerRestricted } from './responses/index.ts';

// What is under way goes on only while its sender may: asked now and then, of exchanges and of what they became.

/** Why a token that was valid no longer counts. */
export type TokenFlaw = 'expired' | RevocationReason;

/** The block or the restriction that a sender is under, by its address or as a caller; null if absent. */
export function restrictionOf(
  address: KnownClient,
  caller: KnownClient | null,
  { restrictions, blocked }: Limiting,
): GatewayError | null {
  if (blocked?.hasAddress(address.key)) return ADDRESS_BLOCKED;
  if (caller !== null && blocked?.hasCaller(caller.key)) return CALLER_BLOCKED;
  const waitMs = restrictions.waitMs(address);
  if (waitMs > 0) return addressRestricted(waitMs, restrictions.reasonFor(address));
  const callerWaitMs = caller === null ? 0 : restrictions.waitMs(caller);
  if (caller === null || callerWaitMs === 0) return null;
  return callerRestricted(callerWaitMs, restrictions.reasonFor(caller));
}

/** What is wrong by now with the token of a caller; null: nothing. */
export function reviewFlaw(
  caller: Caller,
  verifier: TokenVerifier,
  closeAtExpiry: boolean,
  clock: Clock,
): TokenFlaw | null {
  if (closeAtExpiry && clock.epochMs() >= caller.expiresAtMs) return 'expired';
  return verifier.revocationOf(caller);
}
