import { isRoutable } from '../../routing/index.ts';
import { type Exchange, NOWHERE } from '../exchange/index.ts';
import { methodNotSupported, USUAL_METHODS } from '../responses/index.ts';
import { findRoute } from './find-route.ts';
import type { GateResult } from './gate.ts';

/**
 * Refuses TRACE, which would show a client what the gateway adds, CONNECT, which would make it a tunnel, and methods that Node
 * does not know.
 */
export function refuseMethod(exchange: Exchange): GateResult {
  if (isRoutable(exchange.downstream.method)) return null;
  // Only to say which methods there are, since the gateway's own endpoints have others. No route serves the request.
  findRoute(exchange);
  const { route } = exchange.destination;
  exchange.destination = NOWHERE;
  return methodNotSupported(route === null || route.kind === 'forward' ? USUAL_METHODS : route.methods);
}
