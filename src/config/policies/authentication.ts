import { z } from 'zod';
import { formatDuration } from '../../core/index.ts';
import { compareSizes, compareStrictness, compareTimes } from '../difference.ts';
import { choice, duration, yesOrNo } from '../values/index.ts';
import { routePolicy } from './policy.ts';

/** From the loosest to the strictest. */
const LEVELS = ['none', 'optional', 'required'] as const;

/** `authentication`, `close_at_expiry` and `introspection`: how the route treats tokens. */
export const authentication = routePolicy({
  keys: {
    authentication: choice(['required', 'optional', 'none'])
      .prefault('required')
      .describe(
        'Who may use it. required: callers with a valid token, others get 401. optional: everyone; an Authorization header without a valid token is removed. none: everyone; the header is ignored.',
      ),
    close_at_expiry: yesOrNo()
      .prefault(false)
      .describe('Whether a response is cut off when the token of its request expires.'),
    introspection: z
      .union(
        [
          z.boolean(),
          z.strictObject({
            cache: duration({ min: '1s', max: '10m' })
              .prefault('5s')
              .describe('How long an answer of the provider about a token is reused.'),
          }),
        ],
        { error: 'expected true, false, or a map such as { cache: 5s }' },
      )
      .transform(asked => (asked === false ? null : { cacheMs: asked === true ? 5_000 : asked.cache }))
      .prefault(false)
      .describe(
        'Whether the gateway asks the provider if a token is still valid (RFC 7662). A revoked token gets 401; while the provider cannot be asked, 503. true: ask at most every 5s per token.',
      ),
  },
  pathOnly: [],
  forwardOnly: ['close_at_expiry'],
  compile: ({ authentication, close_at_expiry, introspection }) => ({
    authentication,
    closeAtExpiry: close_at_expiry,
    /** How old the provider's answer about a token may be; `null` if the provider is not asked. */
    introspectionMs: introspection === null ? null : introspection.cacheMs,
  }),
  check({ file, path, route }) {
    if (route.authentication !== 'none') return;
    const { close_at_expiry: closes, introspection: asks = false } = route;
    const message = 'has no effect with "authentication: none", which ignores tokens';
    if (closes === true) file.add([...path, 'close_at_expiry'], message);
    if (asks !== false) file.add([...path, 'introspection'], message);
  },
  section: 'caller',
  describe: ({ authentication, closeAtExpiry, introspectionMs, upstream }) => [
    ['authentication', WHO[authentication]],
    ...(closeAtExpiry ? [['authentication', 'a response is cut off when its token expires'] as const] : []),
    ...(upstream === null
      ? []
      : [['Authorization', upstream.passAuthorization ? PASSED_ON[authentication] : 'removed'] as const]),
    ...(introspectionMs === null ? [] : [['introspection', describeIntrospection(introspectionMs)] as const]),
  ],
  compare: (now, before) => [
    compareSizes(
      LEVELS.indexOf(before.authentication),
      LEVELS.indexOf(now.authentication),
      `authentication ${now.authentication}, before ${before.authentication}`,
    ),
    compareStrictness(now.closeAtExpiry, before.closeAtExpiry, 'responses end with their token'),
    compareTimes('introspection', now.introspectionMs, before.introspectionMs),
  ],
});

const WHO = {
  required: 'required: 401 without a valid token',
  optional: 'optional: without a valid token the caller is its address',
  none: 'none: open to everyone',
} as const;

const PASSED_ON = {
  required: 'the token is passed on, as Bearer',
  optional: 'a valid token is passed on, as Bearer; anything else is removed',
  none: 'passed on unchanged',
} as const;

function describeIntrospection(cacheMs: number): string {
  return `the provider is asked whether a token is still valid, at most every ${formatDuration(cacheMs)}; 503 while it cannot answer`;
}
