export { HostNames, PathWords } from './path-words.ts';
export { PatternError, parseGrpcPattern, parseRoutePattern } from './pattern.ts';
export { findHidden, methodsMeet, pathCovers, Reach } from './precedence.ts';
export {
  EVERY_HOST,
  findConflicts,
  GRPC_METHOD,
  isGrpc,
  isRoutable,
  nameOf,
  placeOf,
  ROUTABLE_METHODS,
  type RouteEntry,
  type RouteMatch,
  type RoutePattern,
  type Routes,
  RouteTable,
  wildcardOf,
} from './table.ts';
