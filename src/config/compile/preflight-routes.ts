import { type RouteEntry, shapeOf } from '../../routing/index.ts';
import type { ForwardRoute } from '../model/index.ts';

/**
 * Makes the route table for preflights that are left to upstreams, keyed by the method that the browser asks for. On each path
 * one route also takes the methods that no route there names. If a route names OPTIONS, its service expects preflights and gets
 * all of them for the path.
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
