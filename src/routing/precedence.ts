import type { RoutePattern } from './pattern.ts';

/**
 * Whether the first route takes every request that matches both. Segment by segment from the left, a literal goes before a
 * parameter, and a parameter before `**`. With equal paths, a route that names its methods goes before one for every method.
 */
export function goesBefore(a: RoutePattern, b: RoutePattern): boolean {
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const difference = rank(a, i) - rank(b, i);
    if (difference !== 0) return difference < 0;
  }
  return a.methods !== null && b.methods === null;
}

/** Lower ranks go first; a path that ends here goes before any that continues. */
function rank({ segments }: RoutePattern, index: number): number {
  const kind = segments[index]?.kind;
  return kind === undefined ? 0 : RANK[kind];
}

const RANK = { literal: 0, parameter: 1, rest: 2 } as const;
