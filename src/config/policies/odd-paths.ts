import { ambiguousOnDecoding, type LooseTarget, REJECTED_PATHS } from '../../wire/http/index.ts';
import { compareStrictness } from '../difference.ts';
import { choice } from '../values/index.ts';
import { routePolicy } from './policy.ts';

export const oddPaths = routePolicy({
  keys: {
    encoded_slashes: choice(['refuse', 'pass']).describe(
      'Whether a path with "%2F" gets 400, since services disagree about its meaning, or is passed on. It is a part of its segment then; 400 where the segment would hold an empty one, "." or ".." once it is decoded.',
    ),
    empty_segments: choice(['refuse', 'merge', 'pass']).describe(
      'Whether a path with "//" gets 400, is sent with single slashes (merge), or is sent as it came (pass), where "**" matches it. Routes are always found by single slashes.',
    ),
  },
  pathOnly: ['encoded_slashes', 'empty_segments'],
  compile: ({ encoded_slashes, empty_segments }, { id }) => ({
    encodedSlashes: encoded_slashes,
    emptySegments: empty_segments,
    /** How many segments of a path precede those that `**` matches; `null` without `**`. */
    segmentsBeforeTail: segmentsBeforeTail(id.slice(id.indexOf('/'))),
  }),
  describe: ({ encodedSlashes, emptySegments }) => ({
    'encoded slashes': encodedSlashes === 'refuse' ? null : 'passed on',
    'empty segments': EMPTY_SEGMENTS[emptySegments],
  }),
  compare: (now, before) => [
    compareStrictness(
      now.encodedSlashes === 'refuse',
      before.encodedSlashes === 'refuse',
      'refuses encoded slashes',
    ),
    compareStrictness(
      now.emptySegments === 'refuse',
      before.emptySegments === 'refuse',
      'refuses empty segments',
    ),
  ],
});

const EMPTY_SEGMENTS = { refuse: null, merge: 'sent with single slashes', pass: 'passed on' } as const;

function segmentsBeforeTail(path: string): number | null {
  return path.endsWith('/**') ? path.split('/').length - 2 : null;
}

type OddPathRules = ReturnType<typeof oddPaths.compile>;

/** Why a route refuses a path with escaped slashes or empty segments; `null` if it accepts it. */
export function whyOddPathRefused(
  route: OddPathRules | null,
  { path, escapedSlash, emptySegment }: Pick<LooseTarget, 'path' | 'escapedSlash' | 'emptySegment'>,
): string | null {
  if (escapedSlash && route?.encodedSlashes !== 'pass') return REJECTED_PATHS.escape;
  if (emptySegment && (route === null || route.emptySegments === 'refuse'))
    return REJECTED_PATHS.emptySegment;
  if (route?.encodedSlashes === 'pass' && ambiguousOnDecoding(path))
    return 'a segment of the path holds an empty segment, "." or "..", a backslash or a NUL once it is decoded';
  if (!emptySegment || route?.emptySegments !== 'pass') return null;
  const [, ...segments] = path.split('/');
  const isInTail = route.segmentsBeforeTail !== null && segments.indexOf('') >= route.segmentsBeforeTail;
  return isInTail ? null : 'the path has an empty segment before those that may be empty here';
}
