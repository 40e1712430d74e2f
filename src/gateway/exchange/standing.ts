import type { Clock, GatewayError, TokenEnd } from '../../core/index.ts';
import { type Invalid, invalid } from '../../identity/auth/index.ts';
import type { KnownClient } from '../../limits/index.ts';
import {
  ADDRESS_BLOCKED,
  addressRestricted,
  CALLER_BLOCKED,
  callerRestricted,
  errors,
} from '../responses/index.ts';
import type { Limiting } from '../runtime/index.ts';
import type { ClientAddress } from './client-address.ts';
import type { ValidToken } from './connection-memory.ts';

/** The refusal of a token that expired or was revoked after it was verified. */
interface EndedToken extends Invalid {
  readonly reason: TokenEnd;
}

/** Why an exchange must end. */
export interface EndedBy {
  /** For a token, without the challenges of its route. */
  readonly error: GatewayError;
  /** The refusal of the token; `null` if the sender is restricted or blocked. */
  readonly refusedToken: EndedToken | null;
}

/**
 * The verdicts that allow an exchange to continue: about its address, caller and token. A WebSocket takes over those of the
 * exchange that opened it. Does not keep a JWT itself, since a WebSocket may last for days.
 */
export class Standing {
  /**
   * The caller, and the verifier that checked its token: after a reload, a new verifier may not know that provider. `null`
   * without a token.
   */
  readonly sender: Pick<ValidToken, 'caller' | 'client' | 'verifier'> | null;
  /** The token, if it is opaque and the provider has to be asked about it again. */
  readonly #opaqueToken: string | null;
  readonly #address: ClientAddress;
  readonly #closeAtExpiry: boolean | null;

  /** @param closeAtExpiry `null` if the gateway answers itself: such an exchange is short, so its token is not checked again */
  constructor(address: ClientAddress, token: ValidToken | null, closeAtExpiry: boolean | null) {
    this.#address = address;
    this.sender =
      token === null ? null : { caller: token.caller, client: token.client, verifier: token.verifier };
    this.#opaqueToken = token === null || token.caller.askedAtMs === null ? null : token.token;
    this.#closeAtExpiry = closeAtExpiry;
  }

  /**
   * Returns why the exchange must end: its sender was restricted or blocked, or its token was revoked or has expired. `null` if
   * it may continue.
   */
  review(limiting: Limiting, clock: Clock): EndedBy | null {
    const { sender } = this;
    const restricted = restrictionOf(this.#address, sender === null ? null : sender.client, limiting);
    if (restricted !== null) return { error: restricted, refusedToken: null };
    if (sender === null || this.#closeAtExpiry === null) return null;
    const { caller, verifier } = sender;
    const hasExpired = this.#closeAtExpiry && clock.epochMs() >= caller.expiresAtMs;
    const flaw = hasExpired ? 'expired' : verifier.endOf(caller, this.#opaqueToken);
    if (flaw === null) return null;
    const refusedToken: EndedToken = { ...invalid(flaw), reason: flaw, principal: caller.principal };
    verifier.refuse(refusedToken, caller);
    return { error: errors.unauthenticated(refusedToken), refusedToken };
  }
}

/** The block or restriction that applies to a sender, by address or caller; `null` if there is none. */
function restrictionOf(
  { address, key, restricted }: ClientAddress,
  caller: KnownClient | null,
  { restrictions, blocked }: Limiting,
): GatewayError | null {
  if (blocked?.hasAddress(key, address)) return ADDRESS_BLOCKED;
  if (caller !== null && blocked?.hasCaller(caller.key)) return CALLER_BLOCKED;
  const waitMs = restrictions.waitMs(restricted);
  if (waitMs > 0) return addressRestricted(waitMs, restrictions.reasonFor(restricted));
  const callerWaitMs = caller === null ? 0 : restrictions.waitMs(caller);
  if (caller === null || callerWaitMs === 0) return null;
  return callerRestricted(callerWaitMs, restrictions.reasonFor(caller));
}
