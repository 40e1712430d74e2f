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
export function authorise(exchange: Exchange): GateResult {
  const { destination, token, refusedToken, shortfall } = exchange;
  if (destination.authentication === 'required' && token === null)
    return errors.unauthenticated(refusedToken, exchange);
  const requirement = shortfall === null ? null : requirementAt(destination);
  if (shortfall === null || requirement === null) return null;
  return errors.insufficient(requirement, shortfall, exchange);
}
