import { z } from 'zod';
import { formatDuration } from '../../core/index.ts';
import { compareLists, compareSizes, compareStrictness, compareTimes } from '../difference.ts';
import { asList, asMap } from '../file/index.ts';
import { choice, duration, eachOnce, word, yesOrNo } from '../values/index.ts';
import { type RouteInFile, routePolicy } from './policy.ts';

/** From the loosest to the strictest. */
const LEVELS = ['none', 'optional', 'required'] as const;

/** `authentication`, `accept`, `close_at_expiry` and `introspection`: how the route treats tokens and API keys. */
export const authentication = routePolicy({
  keys: {
    authentication: choice(['required', 'optional', 'none']).describe(
      'Who may use it. required: callers with a valid token, others get 401. optional: everyone; an Authorization header without a valid token is removed. none: everyone; the header is ignored.',
    ),
    accept: z
      .array(word(['token', 'api_key']), { error: 'expected a list such as [token, api_key]' })
      .min(1, { error: 'an empty list lets nobody in: write "authentication: none" for a route without' })
      .superRefine(eachOnce)
      .prefault(['token'])
      .describe(
        'What callers are known by. token: an access token. api_key: a key of "api_keys". With both, a request that has both is 400; with api_key alone, a token is ignored and removed.',
      ),
    close_at_expiry: yesOrNo(false).describe(
      'Whether a response is cut off when the token of its request expires.',
    ),
    introspection: z
      .union(
        [
          z.boolean(),
          z.strictObject({
            cache: duration({ min: '1s', max: '10m', otherwise: '5s' }).describe(
              'How long an answer of the provider about a token is reused.',
            ),
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
  forwardOnly: ['close_at_expiry'],
  own: ['authentication', 'accept', 'introspection'],
  ruledOut: { close_at_expiry: ({ route }) => route.authentication === 'none' },
  compile: ({ authentication, accept, close_at_expiry, introspection }) => ({
    authentication,
    acceptsTokens: accept.includes('token'),
    acceptsApiKeys: accept.includes('api_key'),
    closeAtExpiry: close_at_expiry,
    /** How old the provider's answer about a token may be; `null` if the provider is not asked. */
    introspectionMs: introspection === null ? null : introspection.cacheMs,
  }),
  check(route) {
    const { accept, authentication, close_at_expiry: closes, introspection: asks = false } = route.raw;
    if (asList(accept).includes('api_key')) checkKeys(route);
    if (authentication !== 'none') return;
    const message = 'has no effect with "authentication: none", which ignores tokens';
    if (closes === true) route.add('close_at_expiry', message);
    if (asks !== false) route.add('introspection', message);
  },
  section: 'caller',
  describe: ({
    authentication,
    acceptsTokens,
    acceptsApiKeys,
    closeAtExpiry,
    introspectionMs,
    upstream,
  }) => ({
    authentication: [
      WHO[authentication](wordsOf({ acceptsTokens, acceptsApiKeys }).join(' or ')),
      closeAtExpiry ? 'a response is cut off when its token expires' : null,
    ],
    Authorization:
      upstream?.passAuthorization === true && (acceptsTokens || authentication === 'none')
        ? PASSED_ON[authentication]
        : upstream && 'removed',
    introspection: introspectionMs === null ? null : describeIntrospection(introspectionMs),
  }),
  compare: (now, before) => [
    compareSizes(
      LEVELS.indexOf(before.authentication),
      LEVELS.indexOf(now.authentication),
      `authentication ${now.authentication}, before ${before.authentication}`,
    ),
    ...compareLists(manyOf(now), manyOf(before), { removed: 'no longer accepts', added: 'accepts' }),
    compareStrictness(now.closeAtExpiry, before.closeAtExpiry, 'responses end when their token expires'),
    compareTimes('introspection', now.introspectionMs, before.introspectionMs),
  ],
});

const WHO = {
  required: (what: string) => `required: 401 without a valid ${what}`,
  optional: (what: string) => `optional: without a valid ${what} the caller is its address`,
  none: () => 'none: open to everyone',
} as const;

function wordsOf(model: { readonly acceptsTokens: boolean; readonly acceptsApiKeys: boolean }): string[] {
  return [...(model.acceptsTokens ? ['token'] : []), ...(model.acceptsApiKeys ? ['API key'] : [])];
}

const manyOf = (model: Parameters<typeof wordsOf>[0]) => wordsOf(model).map(word => `${word}s`);

function checkKeys(route: RouteInFile): void {
  const { authentication, accept, require, introspection = false } = route.raw;
  if (asMap(route.file.value).api_keys === undefined)
    route.add('accept', 'there is no "api_keys" to look keys up in: add it, or leave api_key out');
  if (authentication === 'none')
    route.add('accept', 'has no effect with "authentication: none", which ignores tokens and keys');
  if (asList(accept).includes('token')) return;
  if (asMap(require).claims !== undefined)
    route.add(['require', 'claims'], 'no caller could meet it: API keys have no claims');
  if (introspection !== false)
    route.add(
      'introspection',
      'has no effect without "token" under accept: the provider is asked about tokens only',
    );
}

const PASSED_ON = {
  required: 'the token is passed on, as Bearer',
  optional: 'a valid token is passed on, as Bearer; anything else is removed',
  none: 'passed on unchanged',
} as const;

function describeIntrospection(cacheMs: number): string {
  return `the provider is asked whether a token is still valid, at most every ${formatDuration(cacheMs)}; 503 while it cannot answer`;
}
