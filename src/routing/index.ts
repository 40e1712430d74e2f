export { GRPC_METHOD, parseGrpcPattern } from './grpc-pattern.ts';
export { PathWords } from './path-words.ts';
export {
  isRoutable,
  PatternError,
  parseRoutePattern,
  ROUTABLE_METHODS,
  type RoutePattern,
  shapeOf,
} from './pattern.ts';
export { findConflicts, findHidden, Reach } from './precedence.ts';
export { type RouteEntry, type RouteMatch, type Routes, RouteTable } from './table.ts';
