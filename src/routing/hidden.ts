import { takesMethod } from './methods.ts';
import type { RoutePattern } from './pattern.ts';
import { type Segment, shapeOf } from './segment.ts';

/** A route that no request ever reaches, and the more specific ones that together take all of its requests. */
export interface HiddenRoute {
  readonly index: number;
  readonly hiddenBy: readonly number[];
}

/**
 * Routes that more specific ones always hide. Only one that ends in `**` can be hidden, behind a chain without a gap such
 * as `/a` and `/a/{x}/**`. Every other pattern has requests of its own: with a parameter value that no literal names, or a
 * method that no other route of that path names.
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

/** The routes that take this method (null: any) with no further segment, one, two ... and at last all; null where one lacks. */
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
