import type { PathChange } from '../../wire/http/index.ts';
import { compareNeutral } from '../difference.ts';
import { parseRoutePattern, type RoutePattern } from '../routing/index.ts';
import { literalPath, routePath, yesOrNo } from '../values/index.ts';
import { type RouteInFile, routePolicy } from './policy.ts';

const NONE = '';
/** Shared by possibly ten thousand routes. */
const PREFIX = literalPath('a prefix');
const PATTERN = routePath();

export const stripPrefix = routePolicy({
  keys: {
    strip_prefix: literalPath('a prefix')
      .optional()
      .describe(
        'Segments at the front of its path that the service does not get: with /api, it gets /x for /api/x, and / for /api. Left out: it gets the whole path.',
      ),
  },
  pathOnly: ['strip_prefix'],
  forwardOnly: ['strip_prefix'],
  own: ['strip_prefix'],
  compile: ({ strip_prefix = NONE }, { upstream }): PathChange => ({
    strippedPrefix: strip_prefix,
    strippedSegments: strip_prefix.split('/').length - 1,
    base: upstream?.base ?? NONE,
  }),
  check(route) {
    if (route.raw.strip_prefix === undefined) return;
    const prefix = PREFIX.safeParse(route.raw.strip_prefix);
    const pattern = PATTERN.safeParse(route.raw.path);
    if (prefix.success && pattern.success) checkPrefix(route, prefix.data, pattern.data);
  },
  describe: ({ strippedPrefix }) => ({
    strip_prefix: strippedPrefix === NONE ? null : `the service gets the path without ${strippedPrefix}`,
  }),
  compare: (now, before) =>
    compareNeutral('strip_prefix', now.strippedPrefix || 'none', before.strippedPrefix || 'none'),
});

/** Only literal segments can be stripped: then every path of the route has them. */
function checkPrefix(route: RouteInFile, prefix: string, ofRoute: string): void {
  const stripped = literalsOf(parseRoutePattern(prefix, null));
  const literals = literalsOf(parseRoutePattern(ofRoute, null));
  if (stripped.every((folded, index) => folded === literals[index])) return;
  const { file } = route;
  const instead = ofRoute.split('/', 1 + Math.min(stripped.length, literals.length)).join('/');
  const advice = literals.length === 0 ? 'leave it out' : `write ${instead}`;
  const begins = `the path of this route, in line ${route.lineOf('path')}, does not begin with ${file.shown(route.at('strip_prefix'))}`;
  route.add('strip_prefix', file.holdsVariable(route.at('path')) ? begins : `${begins}: ${advice}`);
}

/** The literal segments that a pattern begins with, in the form used for comparison. */
export function literalsOf({ segments }: Pick<RoutePattern, 'segments'>): string[] {
  const end = segments.findIndex(({ kind }) => kind !== 'literal');
  return segments
    .slice(0, end === -1 ? segments.length : end)
    .map(segment => (segment.kind === 'literal' ? segment.folded : ''));
}

export const rewriteLocation = routePolicy({
  keys: {
    rewrite_location: yesOrNo(false).describe(
      "Whether a Location or Content-Location that names the service's own host, or a path of it, becomes the client's address: its scheme and host, and the path with strip_prefix and without the path of the url.",
    ),
  },
  pathOnly: ['rewrite_location'],
  forwardOnly: ['rewrite_location'],
  compile: ({ rewrite_location }) => ({ rewritesLocation: rewrite_location }),
  compileCall: () => ({ rewritesLocation: false }),
  describe: ({ rewritesLocation }) => ({
    Location: rewritesLocation ? "the service's own address is turned into the client's" : null,
  }),
  compare: (now, before) => compareNeutral('rewrite_location', now.rewritesLocation, before.rewritesLocation),
});
