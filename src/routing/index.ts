export { findConflicts } from './conflicts.ts';
export { findHidden } from './hidden.ts';
export { isRoutable, ROUTABLE_METHODS } from './methods.ts';
export { parseRoutePattern, type RoutePattern } from './pattern.ts';
export { PatternError } from './pattern-error.ts';
export { Reach } from './reach.ts';
export { shapeOf } from './segment.ts';
export { type RouteEntry, type RouteMatch, RouteTable } from './table.ts';
