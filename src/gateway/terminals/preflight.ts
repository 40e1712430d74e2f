import { addTrace, askedMethod, preflightFields } from '../../http/index.ts';
import { isRoutable } from '../../routing/index.ts';
import type { Exchange, PreflightHere, Served } from '../exchange/index.ts';

/** Answers a preflight. Allows no method if it asks for one that the route does not serve. */
export function servePreflight(exchange: Exchange, destination: PreflightHere): Served {
  const { kept } = exchange.head;
  const asked = askedMethod(kept);
  const served = asked !== null && serves(exchange, destination, asked) ? asked : null;
  const fields = [...preflightFields(destination.cors, kept, served)];
  addTrace(fields, exchange.requestId);
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}

function serves({ snapshot }: Exchange, { route, path }: PreflightHere, method: string): boolean {
  if (route.kind !== 'forward') return route.methods.includes(method);
  return isRoutable(method) && snapshot.routes.find(method, path)?.value === route;
}
