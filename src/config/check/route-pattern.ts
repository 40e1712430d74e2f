import { parseGrpcPattern, parseRoutePattern, type RoutePattern } from '../../routing/index.ts';
import { routeKeys } from '../schema/index.ts';

/** The pattern of a route as written; null if it is invalid in itself. */
export function patternOf(route: Readonly<Record<string, unknown>>): RoutePattern | null {
  const grpc = routeKeys.grpc.safeParse(route.grpc);
  const path = routeKeys.path.safeParse(route.path);
  const methods = routeKeys.methods.safeParse(route.methods);
  if (!grpc.success || !path.success || !methods.success) return null;
  if (grpc.data !== undefined) return path.data === undefined ? parseGrpcPattern(grpc.data) : null;
  return path.data === undefined ? null : parseRoutePattern(path.data, methods.data ?? null);
}
