import type { RoutePattern } from './pattern.ts';
import { shapeOf } from './segment.ts';

/**
 * Pairs of patterns that match the same requests, as indices, the earlier first: same shape, and a method in common. HEAD and
 * GET do not conflict (the route that names HEAD takes it), nor do a method and "every method" (the route that names it takes
 * it). Of three equal patterns, the second and third are each paired with the first.
 */
export function findConflicts(patterns: readonly RoutePattern[]): (readonly [number, number])[] {
  const owners = new Map<string, number>();
  return patterns.flatMap((pattern, index) => {
    const shape = shapeOf(pattern.segments);
    const earlier = new Set<number>();
    for (const method of pattern.methods ?? ['']) {
      const key = `${method} ${shape}`;
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, index);
      else earlier.add(owner);
    }
    return Array.from(earlier, owner => [owner, index] as const);
  });
}
