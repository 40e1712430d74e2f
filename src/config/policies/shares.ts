import { z } from 'zod';
import { asMap, isMap, type Path, type RawMap, type Section } from '../file/index.ts';
import { mapExpected, wholeNumber } from '../values/index.ts';

const UPSTREAM = 'expected the name of an upstream';
const WHOLE = 100;

/** The value of a route's `upstream`: a name, or names with their percentages of callers. */
export const routeUpstreamSchema = z.union(
  [
    z.string({ error: UPSTREAM }),
    z.record(
      z.string(),
      wholeNumber(0, WHOLE, 'expected a whole number from 0 to 100'),
      mapExpected('{ api: 95, api-next: 5 }'),
    ),
  ],
  { error: `${UPSTREAM}, or a map such as { api: 95, api-next: 5 }` },
);

/** An upstream and its percentage of the callers of a route. */
export interface UpstreamPart {
  readonly name: string;
  readonly percent: number;
}

/**
 * The upstreams of a route. Sorted by name, so that the order in the file does not matter, and a larger share keeps the callers
 * of a smaller one.
 */
export function partsOf(upstream: z.output<typeof routeUpstreamSchema>): readonly UpstreamPart[] {
  if (typeof upstream === 'string') return [{ name: upstream, percent: WHOLE }];
  return Object.entries(upstream)
    .map(([name, percent]) => ({ name, percent }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The names of the upstreams of a route as written, each with its place. */
export function upstreamsNamed(
  { upstream }: RawMap,
  path: Path,
): readonly { readonly name: string; readonly path: Path; readonly about: 'key' | 'value' }[] {
  const at = [...path, 'upstream'];
  if (typeof upstream === 'string') return [{ name: upstream, path: at, about: 'value' }];
  return Object.keys(asMap(upstream)).map(name => ({ name, path: [...at, name], about: 'key' as const }));
}

/** Checks that the shares of a route's upstreams add up to 100. */
export function checkShares(route: Section): void {
  if (!isMap(route.raw.upstream)) return;
  const { data } = routeUpstreamSchema.safeParse(route.raw.upstream);
  if (data === undefined) return;
  const sum = partsOf(data).reduce((total, { percent }) => total + percent, 0);
  if (sum !== WHOLE) route.add('upstream', `the shares of callers add up to ${sum}, not to ${WHOLE}`);
}
