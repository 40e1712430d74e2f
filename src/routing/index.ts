export { PathWords } from './path-words.ts';
export { PatternError, parseGrpcPattern, parseRoutePattern } from './pattern.ts';
export { findHidden, Reach } from './precedence.ts';
export {
  findConflicts,
  GRPC_METHOD,
  isRoutable,
  ROUTABLE_METHODS,
  type RouteEntry,
  type RouteMatch,
  type RoutePattern,
  type Routes,
  RouteTable,
  shapeOf,
} from './table.ts';
