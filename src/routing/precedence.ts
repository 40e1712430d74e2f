import type { RoutePattern } from './pattern.ts';

/**
 * Whether the first is the route of every request that matches both. Segment by segment from the left a literal goes before a
 * parameter and that before `**`; of two routes of one path the one that names its methods goes before the one for every method.
 */
export function goesBefore(a: RoutePattern, b: RoutePattern): boolean {
  for (let i = 0; i < Math.max(a.segments.length, b.segments.length); i++) {
    const difference = rank(a, i) - rank(b, i);
    if (difference !== 0) return difference < 0;
  }
  return a.methods !== null && b.methods === null;
}

/** A literal goes before a parameter; a path that ends goes before one that goes on with anything. */
function rank({ segments }: RoutePattern, index: number): number {
  const kind = segments[index]?.kind;
  return kind === undefined ? 0 : RANK[kind];
}

const RANK = { literal: 0, parameter: 1, rest: 2 } as const;
