import type { LoadedRoute } from '../../config/index.ts';
import { findConflicts, RouteTable } from '../../routing/index.ts';
import { nameOfRoute } from './describe-route.ts';
import type { ExplainedFact } from './fact.ts';

/** The routes that match the same path as `winner` (undefined: there is none) and why they do not take the request. */
export function rivalsOf(
  winner: LoadedRoute | undefined,
  method: string,
  path: string,
  routes: readonly LoadedRoute[],
): ExplainedFact[] {
  return routes
    .filter(route => route !== winner && matchesPath(route, path))
    .map(route => {
      const { methods } = route.pattern;
      const why =
        new RouteTable([route]).find(method, path) === null
          ? `only for ${methods?.join(', ')}`
          : whyItLost(route, winner);
      return ['also matches', `${nameOfRoute(route)}: ${why}`];
    });
}

function matchesPath({ pattern, value }: LoadedRoute, path: string): boolean {
  return new RouteTable([{ pattern: { ...pattern, methods: null }, value }]).find('GET', path) !== null;
}

function whyItLost({ pattern }: LoadedRoute, winner: LoadedRoute | undefined): string {
  if (winner === undefined) return 'it does not name /v1/anonymous, and nothing else leads there';
  const samePath = findConflicts([
    { ...pattern, methods: null },
    { ...winner.pattern, methods: null },
  ]);
  return samePath.length > 0 ? 'the same path, but the route above names the method' : 'less specific';
}
