export { PatternError, type RoutePattern, parseRoutePattern } from './pattern.ts';
export { type RouteEntry, type RouteMatch, RouteTable } from './table.ts';
