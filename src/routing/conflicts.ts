import type { RoutePattern } from './pattern.ts';
import { shapeOf } from './segment.ts';

/**
 * Pairs of patterns that match the same requests, as indices, the earlier first: same shape, and a method in common. HEAD
 * beside GET is none (the route for HEAD takes it), nor is a method beside every method (the one that names it takes it).
 * Of three alike the second and the third are each paired with the first.
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
