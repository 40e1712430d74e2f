import { type Invalid, readBearer, type Verdict } from '../../auth/index.ts';
import type { Exchange, ValidToken } from '../exchange/index.ts';
import { globallyRefused, keysUnreachable, unauthenticated } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** A token as it came, and what it is judged by. */
type Submitted = Omit<ValidToken, 'caller' | 'token'>;

/**
 * Turns the token into a caller if the route wants to know. Does not refuse requests without a valid one: `authorise` does, after
 * they have drawn on their address's limits.
 */
export function identify(exchange: Exchange): GateResult | Promise<GateResult> {
  const { authorization } = exchange.head;
  if (exchange.destination.authentication === 'none' || authorization === null) return null;
  const { identity } = exchange.generation;
  const model = exchange.snapshot.identity;
  // Without a provider no token is valid, and `authorise` refuses requests that need one.
  if (identity === null || model === null) return null;
  const { verifier } = identity;
  const { schemes } = model;
  const known = exchange.downstream.memory.token;
  if (known !== null && known.authorization === authorization) {
    if (known.verifier === verifier && known.schemes === schemes && verifier.accepts(known.caller)) {
      exchange.token = known;
      return null;
    }
  }
  const token = readBearer(authorization, schemes);
  if (typeof token !== 'string') {
    exchange.refusedToken = verifier.refuse(token);
    return null;
  }
  const submitted = { authorization, verifier, schemes };
  const verdict = verifier.verify(token, exchange.addressKey);
  if (verdict instanceof Promise)
    return verdict.then(awaited => conclude(exchange, submitted, token, awaited));
  return conclude(exchange, submitted, token, verdict);
}

function conclude(
  exchange: Exchange,
  { authorization, verifier, schemes }: Submitted,
  token: string,
  verdict: Verdict | Invalid,
): GateResult {
  switch (verdict.kind) {
    case 'bot':
    case 'user':
      exchange.token = { caller: verdict, token, authorization, verifier, schemes };
      exchange.downstream.memory.token = exchange.token;
      return null;
    case 'invalid':
      exchange.refusedToken = verdict;
      return null;
    case 'unavailable':
      // Never 401: clients discard a token that they are told is invalid, and this one may be valid.
      return keysUnreachable(verdict.retryAfterS);
    case 'spent':
      return globallyRefused(verdict.retryAfterMs);
  }
}

/** Refuses requests without a valid token if the route requires one (docs/contract.md, 2.1). */
export function authorise({ destination, token, refusedToken }: Exchange): GateResult {
  return destination.authentication === 'required' && token === null ? unauthenticated(refusedToken) : null;
}
