import { z } from 'zod';
import { type TokenPlace, TokenPlaces } from '../../wire/http/index.ts';
import { compareLists } from '../difference.ts';
import { asList, asMap } from '../file/index.ts';
import { type RouteInFile, routePolicy } from './policy.ts';

const EXPECTED =
  'expected one of { query: access_token }, { subprotocol: bearer } and { cookie: api_token }, with a name of letters, digits, "_", "-" and "."';
const nameOfPlace = z.string({ error: EXPECTED }).regex(/^[A-Za-z0-9_.-]{1,100}$/, { error: EXPECTED });

const place = z.union(
  [
    z.strictObject({ query: nameOfPlace.describe('A parameter of the query.') }),
    z.strictObject({
      subprotocol: nameOfPlace.describe('A word in Sec-WebSocket-Protocol that precedes the token.'),
    }),
    z.strictObject({
      cookie: nameOfPlace.describe(
        "A cookie. It counts only for pages of the request's own host and of cors.origins.",
      ),
    }),
  ],
  { error: EXPECTED },
);

function placeOf(written: z.output<typeof place>): TokenPlace {
  if ('query' in written) return { kind: 'query', name: written.query };
  return 'cookie' in written
    ? { kind: 'cookie', name: written.cookie }
    : { kind: 'subprotocol', name: written.subprotocol };
}

export const tokenFrom = routePolicy({
  keys: {
    token_from: z
      .array(place, { error: 'expected a list such as [{ query: access_token }]' })
      .min(1, { error: 'name a place, or leave it out' })
      .max(8, { error: 'expected at most 8 places' })
      .optional()
      .describe(
        'Where a GET, HEAD or WebSocket handshake may carry its token besides Authorization, since browsers send none with WebSockets, EventSource and images. No service, log or trace gets what is there. Left out: nowhere else.',
      ),
  },
  pathOnly: ['token_from'],
  own: ['token_from'],
  compile: ({ token_from }) => ({
    /** Where a token may be, apart from `Authorization`; `null` for nowhere. */
    tokenFrom: token_from === undefined ? null : new TokenPlaces(token_from.map(placeOf)),
  }),
  check(route) {
    const { token_from: places, websocket = false } = route.raw;
    if (places === undefined) return;
    const why = whyUseless(route);
    if (why !== null) route.add('token_from', why);
    const index = asList(places).findIndex(each => asMap(each).subprotocol !== undefined);
    if (index !== -1 && websocket === false)
      route.add(['token_from', index], 'this route serves no WebSockets: add "websocket: true"');
    const { cookie: ofBalance } = asMap(route.upstream.balance);
    const message = 'no token could be valid there: "balance" of the upstream writes this cookie';
    for (const [each, { cookie }] of asList(places).map(asMap).entries())
      if (cookie !== undefined && cookie === ofBalance) route.add(['token_from', each], message);
  },
  section: 'caller',
  describe: ({ tokenFrom }) => ({
    'token from':
      tokenFrom &&
      `also ${wordsOf(tokenFrom).join(', ')}: for GET, HEAD and WebSockets; removed before anything is sent`,
  }),
  compare: ({ tokenFrom: now }, { tokenFrom: before }) =>
    compareLists(wordsOf(now), wordsOf(before), {
      added: 'reads tokens from',
      removed: 'no longer reads tokens from',
    }),
});

/** Why no token in these places can be valid; `null` if one can. */
function whyUseless({ file, raw }: RouteInFile): string | null {
  const { authentication, accept = ['token'], methods } = raw;
  if (authentication === 'none') return 'has no effect with "authentication: none", which ignores tokens';
  if (!asList(accept).includes('token'))
    return 'has no effect without "token" under accept: API keys are read in their header field only';
  if (Array.isArray(methods) && !methods.includes('GET') && !methods.includes('HEAD'))
    return 'tokens are read there for GET and HEAD only, which "methods" does not name';
  const { dpop } = asMap(asMap(file.value).access_tokens);
  return dpop === 'required' || asMap(dpop).mode === 'required'
    ? 'no token could be valid there: "dpop" under access_tokens requires tokens bound to a key, which count in Authorization only'
    : null;
}

function wordsOf(places: TokenPlaces | null): string[] {
  return (places?.all ?? []).map(({ kind, name }) => `${kind} ${name}`);
}
