import { invalid } from '../../auth/index.ts';
import { GatewayError } from '../../core/index.ts';
import type { Activity } from '../../signin/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GateResult } from './gate.ts';

/**
 * Asks the provider whether the token is still valid there, if the route says so. Does not refuse a request without a valid one:
 * `authorise` does, after it has drawn on its address's limits.
 */
export function introspect(exchange: Exchange): GateResult | Promise<GateResult> {
  const { token, destination, generation, addressKey } = exchange;
  const { route } = destination;
  if (token === null || route?.kind !== 'forward' || route.introspectionMs === null) return null;
  const { identity } = generation;
  if (identity === null) return null;
  const answer = identity.introspect(token.caller, token.token, route.introspectionMs, addressKey);
  return answer instanceof Promise
    ? answer.then(said => conclude(exchange, said))
    : conclude(exchange, answer);
}

function conclude(exchange: Exchange, said: Activity | GatewayError): GateResult {
  if (said instanceof GatewayError) return said;
  if (said === 'active') return null;
  const principal = exchange.token?.caller.principal ?? null;
  exchange.refusedToken = { ...invalid('inactive'), principal };
  exchange.token?.verifier.refuse(exchange.refusedToken, exchange.token.caller);
  exchange.token = null;
  return null;
}
