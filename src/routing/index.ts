export type { RouteEntry, RouteMatch, Routes } from './entry.ts';
export { GRPC_METHOD, parseGrpcPattern } from './grpc-pattern.ts';
export { isRoutable, ROUTABLE_METHODS } from './methods.ts';
export { PathWords } from './path-words.ts';
export { parseRoutePattern, type RoutePattern, shapeOf } from './pattern.ts';
export { PatternError } from './pattern-error.ts';
export { findConflicts, findHidden, Reach } from './precedence.ts';
export { RouteTable } from './table.ts';
