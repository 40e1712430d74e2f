export { HostNames, PathWords } from './path-words.ts';
export { PatternError, parseGrpcPattern, parseRoutePattern } from './pattern.ts';
export { findHidden, methodsMeet, pathCovers, Reach } from './precedence.ts';
export * from './table.ts';
