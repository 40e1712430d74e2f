import { shortfallOf } from '../../identity/auth/index.ts';
import { type Exchange, requirementAt } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/**
 * Step 6: determines what the token lacks for the route. Does not refuse the request: `authorise` does, after it has consumed the
 * caller's global limit.
 */
export function judge(exchange: Exchange): GateResult {
  const requirement = requirementAt(exchange.destination);
  if (requirement !== null && exchange.token !== null)
    exchange.shortfall = shortfallOf(exchange.token.caller, requirement);
  return null;
}

/**
 * Step 9: refuses requests without a valid token or with one that does not meet the route's requirements (docs/contract.md, 2.1).
 */
export function authorise({ destination, token, refusedToken, shortfall }: Exchange): GateResult {
  if (destination.authentication === 'required' && token === null)
    return errors.unauthenticated(refusedToken);
  const requirement = shortfall === null ? null : requirementAt(destination);
  return shortfall === null || requirement === null ? null : errors.insufficient(requirement, shortfall);
}
