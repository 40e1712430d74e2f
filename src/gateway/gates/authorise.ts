import { isOfFile } from '../../config/index.ts';
import type { GatewayError } from '../../core/index.ts';
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
  const { destination, token, shortfall } = exchange;
  if (destination.authentication === 'required' && token === null) return withoutAuthentication(exchange);
  const requirement = shortfall === null ? null : requirementAt(destination);
  if (shortfall === null || requirement === null) return null;
  return token !== null && token.token === null
    ? errors.insufficientKey()
    : errors.insufficient(requirement, shortfall, exchange);
}

/** What a client is told whose token or API key is missing, refused or over: what the route accepts. */
export function withoutAuthentication(exchange: Exchange): GatewayError {
  const { destination, head, refusedToken, snapshot } = exchange;
  const { route } = destination;
  const keys = snapshot.identity?.apiKeys ?? null;
  if (!isOfFile(route) || !route.acceptsApiKeys || keys === null)
    return errors.unauthenticated(refusedToken, exchange);
  const isWrong = head.apiKey !== null && refusedToken !== null;
  return errors.withoutKey(keys.header, isWrong, route.acceptsTokens ? refusedToken : undefined, exchange);
}
