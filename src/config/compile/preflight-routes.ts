import { type RouteEntry, shapeOf } from '../../routing/index.ts';
import type { ForwardRoute } from '../model/index.ts';

/**
 * The routes that leave preflights to their services, as preflights find them: by the method that a browser asks for, and
 * on each path one for every method that no route there names. Where one of them names OPTIONS, its service is the one that
 * expects them, and it takes all of its path.
 */
export function preflightRoutes(routes: readonly RouteEntry<ForwardRoute>[]): RouteEntry<ForwardRoute>[] {
  const left = routes.filter(({ value }) => !value.cors);
  const byPath = Map.groupBy(left, ({ pattern }) => shapeOf(pattern.segments));
  return [...byPath.values()].flatMap(ofOnePath);
}

function ofOnePath(routes: readonly RouteEntry<ForwardRoute>[]): RouteEntry<ForwardRoute>[] {
  const named = routes.find(({ pattern }) => pattern.methods?.includes('OPTIONS'));
  const others = named === undefined ? routes : [];
  const first = named ?? routes.find(({ pattern }) => pattern.methods === null) ?? routes[0];
  return first === undefined ? [] : [forEveryMethod(first), ...others.filter(route => route !== first)];
}

function forEveryMethod({ pattern, value }: RouteEntry<ForwardRoute>): RouteEntry<ForwardRoute> {
  return { pattern: { ...pattern, methods: null }, value };
}
