import { isRoutable, takesMethod } from './methods.ts';
import type { RoutePattern } from './pattern.ts';
import { goesBefore } from './precedence.ts';
import { RouteCandidates } from './route-candidates.ts';

/** Finds the routes that serve the requests of a line in limits.yaml. */
export class Reach {
  readonly #routes: readonly RoutePattern[];
  readonly #candidates: RouteCandidates;

  constructor(routes: readonly RoutePattern[]) {
    this.#routes = routes;
    this.#candidates = new RouteCandidates(routes);
  }

  /**
   * The routes, as indices, that may take a request that `line` matches. Leaves out those that can never win: the ones behind the
   * most specific route that takes all requests of the line.
   */
  takersOf(line: RoutePattern): number[] {
    const met = this.#candidates.of(line).flatMap(index => {
      const route = this.#routes[index];
      return route !== undefined && methodsMeet(route.methods, line.methods) ? [{ route, index }] : [];
    });
    const [first, ...others] = met.filter(
      ({ route }) => pathCovers(route, line) && methodsCover(route.methods, line.methods),
    );
    const best = others.reduce((a, b) => (a !== undefined && goesBefore(b.route, a.route) ? b : a), first);
    return met
      .filter(({ route }) => best === undefined || !goesBefore(best.route, route))
      .map(({ index }) => index);
  }
}

type Methods = RoutePattern['methods'];

/** A list of methods that is null takes every method of HTTP, but no gRPC call. */
function methodsMeet(a: Methods, b: Methods): boolean {
  if (a === null || b === null) return [...(a ?? []), ...(b ?? [])].every(isRoutable);
  return a.some(method => takesMethod(b, method)) || b.some(method => takesMethod(a, method));
}

function methodsCover(outer: Methods, inner: Methods): boolean {
  if (outer === null) return inner === null || inner.every(isRoutable);
  if (inner === null) return false;
  return inner.every(method => takesMethod(outer, method));
}

/** Whether every path of the second matches the first. */
function pathCovers({ segments: outer }: RoutePattern, { segments: inner }: RoutePattern): boolean {
  for (let i = 0; ; i++) {
    const [one, other] = [outer[i], inner[i]];
    if (one?.kind === 'rest') return true;
    if (one === undefined || other === undefined) return one === other;
    if (other.kind === 'rest') return false;
    if (one.kind === 'literal' && (other.kind !== 'literal' || one.folded !== other.folded)) return false;
  }
}
