export { findConflicts } from './conflicts.ts';
export { findHidden } from './hidden.ts';
export { PatternError, parseRoutePattern, type RoutePattern } from './pattern.ts';
export { type RouteEntry, type RouteMatch, RouteTable } from './table.ts';
