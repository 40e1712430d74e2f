import { takesMethod } from './methods.ts';
import type { RoutePattern } from './pattern.ts';
import { type Segment, shapeOf } from './segment.ts';

/** A route that no request can reach, and the more specific routes that together take all of its requests. */
export interface HiddenRoute {
  readonly index: number;
  readonly hiddenBy: readonly number[];
}

/**
 * Finds routes that more specific ones hide completely. Only a route that ends in `**` can be hidden, by a chain without gaps
 * such as `/a` and `/a/{x}/**`. Every other pattern has requests of its own: with a parameter value that no literal names, or a
 * method that no other route of the path names.
 */
export function findHidden(patterns: readonly RoutePattern[]): HiddenRoute[] {
  const byShape = Map.groupBy(patterns.keys(), index => shapeOf(patterns[index]?.segments ?? []));
  return patterns.flatMap((pattern, index) => {
    if (pattern.segments.at(-1)?.kind !== 'rest') return [];
    const chains = (pattern.methods ?? [null]).map(method => chainBefore(pattern, method, patterns, byShape));
    return chains.includes(null)
      ? []
      : [{ index, hiddenBy: [...new Set(chains.flatMap(chain => chain ?? []))] }];
  });
}

const ANY_ONE: Segment = { kind: 'parameter', name: '' };

/** The routes that take this method (null: any) with no further segment, with one, two ... and finally all; null at a gap. */
function chainBefore(
  pattern: RoutePattern,
  method: string | null,
  patterns: readonly RoutePattern[],
  byShape: ReadonlyMap<string, readonly number[]>,
): readonly number[] | null {
  const taker = (segments: readonly Segment[]) =>
    byShape.get(shapeOf(segments))?.find(index => takes(patterns[index]?.methods ?? null, method));
  const prefix = pattern.segments.slice(0, -1);
  const chain: number[] = [];
  for (;;) {
    const exact = taker(prefix);
    if (exact === undefined) return null;
    prefix.push(ANY_ONE);
    const rest = taker([...prefix, { kind: 'rest' }]);
    chain.push(exact);
    if (rest !== undefined) return [...chain, rest];
  }
}

function takes(methods: readonly string[] | null, method: string | null): boolean {
  if (methods === null) return true;
  return method !== null && takesMethod(methods, method);
}
