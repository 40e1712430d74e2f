import { findConflicts, GRPC, RouteTable } from '../routing/index.ts';
import { nameOfRoute } from './describe-route.ts';
import type { ListedRoute } from './routes.ts';
import type { Row } from './row.ts';

/** Lists the other routes that match the path, and why they do not take the request. `winner`: undefined if no route does. */
export function rivalsOf(
  winner: ListedRoute | undefined,
  method: string,
  path: string,
  routes: readonly ListedRoute[],
): Row[] {
  return routes
    .filter(route => route !== winner && matchesPath(route, method, path))
    .map(route => {
      const { methods } = route.pattern;
      const why =
        new RouteTable([route]).find(method, path) === null
          ? `only for ${methods?.join(', ')}`
          : whyItLost(route, winner);
      return ['also matches', `${nameOfRoute(route)}: ${why}`];
    });
}

function matchesPath({ pattern, value }: ListedRoute, method: string, path: string): boolean {
  const isOfCalls = pattern.methods?.includes(GRPC) === true;
  if (isOfCalls !== (method === GRPC)) return false;
  const entry = { pattern: isOfCalls ? pattern : { ...pattern, methods: null }, value };
  return new RouteTable([entry]).find(method, path) !== null;
}

function whyItLost({ pattern }: ListedRoute, winner: ListedRoute | undefined): string {
  if (winner === undefined) return 'only routes that name /v1/anonymous serve paths under it';
  const samePath = findConflicts([
    { ...pattern, methods: null },
    { ...winner.pattern, methods: null },
  ]);
  return samePath.length > 0 ? 'same path, but the route above names the method' : 'less specific';
}
