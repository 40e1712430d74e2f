import type { PathChange } from '../../http/index.ts';
import { parseRoutePattern } from '../../routing/index.ts';
import { compareNeutral } from '../difference.ts';
import type { ConfigFile, Path } from '../file/index.ts';
import { literalPath, routePath } from '../values/index.ts';
import { routePolicy } from './policy.ts';

const NONE = '';

/** `strip_prefix`: what of the path is not sent to the service. */
export const stripPrefix = routePolicy({
  keys: {
    strip_prefix: literalPath('a prefix')
      .optional()
      .describe(
        'Segments at the front of its path that the service does not get: with /api, it gets /x for /api/x, and / for /api. Left out: it gets the whole path.',
      ),
  },
  pathOnly: ['strip_prefix'],
  compile: ({ strip_prefix = NONE }): PathChange => ({
    strippedPrefix: strip_prefix,
    strippedSegments: strip_prefix.split('/').length - 1,
  }),
  check({ file, path, route }) {
    const prefix = literalPath('a prefix').safeParse(route.strip_prefix);
    const pattern = routePath().safeParse(route.path);
    if (prefix.success && pattern.success) checkPrefix(file, path, prefix.data, pattern.data);
  },
  describe: ({ strippedPrefix }) =>
    strippedPrefix === NONE ? [] : [['strip_prefix', `the service gets the path without ${strippedPrefix}`]],
  compare: (now, before) => [
    compareNeutral('strip_prefix', now.strippedPrefix || 'none', before.strippedPrefix || 'none'),
  ],
});

/** Only literal segments are taken away: then every path of the route has them. */
function checkPrefix(file: ConfigFile, path: Path, prefix: string, ofRoute: string): void {
  const [stripped, literals] = [literalsOf(prefix), literalsOf(ofRoute)];
  if (stripped.every((folded, index) => folded === literals[index])) return;
  const [at, pathAt] = [
    [...path, 'strip_prefix'],
    [...path, 'path'],
  ];
  const instead = ofRoute.split('/', 1 + Math.min(stripped.length, literals.length)).join('/');
  const advice = literals.length === 0 ? 'leave it out' : `write ${instead}`;
  const begins = `the path of this route, in line ${file.place(pathAt).line}, does not begin with ${file.shown(at)}`;
  file.add(at, file.holdsVariable(pathAt) ? begins : `${begins}: ${advice}`);
}

/** The literal segments that a path begins with, in the form in which they are compared. */
function literalsOf(path: string): string[] {
  const folded: string[] = [];
  for (const segment of parseRoutePattern(path, null).segments) {
    if (segment.kind !== 'literal') break;
    folded.push(segment.folded);
  }
  return folded;
}
