import { expect, test } from 'vitest';
import { diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const PROVIDER = 'identity_provider: { issuer: "https://id" }\n';

/** What is said about a route with these keys. */
async function found(route: string, dpop = 'off'): Promise<string[]> {
  const gateway = `${PROVIDER}access_tokens: { audience: api, dpop: ${dpop} }
api_keys: { file: keys.yaml }
upstreams: { api: { url: "http://api:3000" }, nodes: { urls: ["http://a", "http://b"], balance: { cookie: node } } }
routes:
  - { path: /keys, upstream: { api: 50, nodes: 50 }, accept: [api_key] }
  - { path: /a, ${route} }
`;
  const loaded = await loadFiles({ 'gateway.yaml': gateway, 'keys.yaml': '[]' });
  return diagnosticsOf(loaded).map(each => each.replace(/^gateway\.yaml:\d+:\d+: /, ''));
}

const ANSWER = 'respond: { status: 200, body: a }';

test.each([
  ['upstream: api, accept: [api_key]', 'off', 'without "token" under accept'],
  ['upstream: api, authentication: none', 'off', 'with "authentication: none"'],
  [ANSWER, 'off', 'with "authentication: none"'],
  ['upstream: api, methods: [POST]', 'off', 'tokens are read there for GET and HEAD only'],
  ['upstream: api', 'required', '"dpop" under access_tokens requires tokens bound to a key'],
  ['upstream: api', '{ mode: required, nonce: 5m }', '"dpop" under access_tokens requires'],
])('places where no token can be valid are named: %s, dpop: %s', async (route, dpop, why) => {
  const places = 'token_from: [{ query: access_token }, { cookie: api_token }]';
  expect(await found(`${route}, ${places}`, dpop)).toEqual([
    expect.stringMatching(new RegExp(`^routes\\[1\\]\\.token_from: .*${why.replace(/[[\]]/g, '\\$&')}`)),
  ]);
});

test('a cookie that the upstream balances by has no place for a token', async () => {
  const places = 'token_from: [{ query: a }, { cookie: node }]';
  expect(await found(`upstream: nodes, ${places}`)).toContainEqual(
    'routes[1].token_from[1]: no token could be valid there: "balance" of the upstream writes this cookie',
  );
  expect(await found(`upstream: nodes, ${places.replace('node', 'api_token')}`)).toEqual([]);
});

test.each([
  ['upstream: api, accept: [token, api_key]', 'off'],
  ['upstream: api, authentication: optional', 'accepted'],
  [`${ANSWER}, authentication: required`, 'off'],
  ['upstream: api, methods: [HEAD, POST]', '{ mode: accepted }'],
])('places where one can be valid are not: %s, dpop: %s', async (route, dpop) => {
  expect(await found(`${route}, token_from: [{ query: access_token }]`, dpop)).toEqual([]);
});
