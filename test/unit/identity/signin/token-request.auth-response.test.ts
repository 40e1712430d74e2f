import { describe, expect, test } from 'vitest';
import { ProviderFault } from '../../../../src/identity/signin/ask-provider.ts';
import { readTokenResponse } from '../../../../src/identity/signin/token-request.ts';

const NOW = 1_700_000_000.7;
const jwt = (claims: unknown) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
const read = (members: Record<string, unknown>) =>
  readTokenResponse(new Map(Object.entries(members)), 'openid wanted', NOW);
const response = (members: Record<string, unknown>) => read({ access_token: 'opaque', ...members }).response;

test('everything that Keycloak issues has its place, in the order of the contract', () => {
  const { response: all, mark } = read({
    access_token: jwt({ sub: 'alice' }),
    expires_in: 300,
    refresh_expires_in: 1_800,
    refresh_token: 'refresh',
    token_type: 'Bearer',
    id_token: 'id',
    'not-before-policy': 1_600_000_000,
    session_state: 'session',
    scope: 'openid profile',
  });
  expect(JSON.stringify(all)).toBe(
    JSON.stringify({
      accessToken: jwt({ sub: 'alice' }),
      tokenType: 'Bearer',
      expiresIn: 300,
      refreshToken: 'refresh',
      refreshExpiresIn: 1_800,
      idToken: 'id',
      notBeforePolicy: 1_600_000_000,
      sessionState: 'session',
      scope: 'openid profile',
    }),
  );
  expect(mark).toEqual({ issuer: null, subject: 'alice', notBefore: 1_600_000_000 });
});

test('an opaque access token alone becomes the minimal response', () => {
  expect(response({})).toEqual({
    accessToken: 'opaque',
    tokenType: 'Bearer',
    notBeforePolicy: 0,
    scope: 'openid wanted',
  });
});

test('missing members are taken from the tokens', () => {
  const claims = { exp: 1_700_000_060, sid: 'of the access token', sub: 'alice' };
  const refresh = { exp: 1_700_000_600 };
  expect(response({ access_token: jwt(claims), refresh_token: jwt(refresh) })).toMatchObject({
    expiresIn: 59,
    refreshExpiresIn: 599,
    sessionState: 'of the access token',
  });
  expect(response({ id_token: jwt({ sid: 'of the ID token' }) })).toMatchObject({
    sessionState: 'of the ID token',
  });
});

test('the provider’s members go before the claims of its tokens', () => {
  const token = jwt({ exp: 1_700_000_060, sid: 'token' });
  const members = {
    access_token: token,
    refresh_token: token,
    expires_in: 1,
    refresh_expires_in: 0,
    session_state: 'said',
  };
  expect(response(members)).toMatchObject({ expiresIn: 1, refreshExpiresIn: 0, sessionState: 'said' });
});

test('the lifetime of a refresh token has the name of Keycloak, or that of Entra ID, Google and others', () => {
  const lifetime = (members: object) => response({ refresh_token: 'r', ...members }).refreshExpiresIn;
  expect(lifetime({ refresh_token_expires_in: 1_209_600 })).toBe(1_209_600);
  expect(lifetime({ refresh_expires_in: 0, refresh_token_expires_in: 7 })).toBe(0);
});

test('a token that has expired already expires in 0 seconds', () => {
  expect(response({ access_token: jwt({ exp: 5 }) })).toHaveProperty('expiresIn', 0);
});

test('without a refresh token there is no expiry for it', () => {
  expect(response({ refresh_expires_in: 0 })).not.toHaveProperty('refreshExpiresIn');
});

test('a refresh token without an end has none', () => {
  expect(response({ refresh_token: jwt({ typ: 'Offline' }) })).not.toHaveProperty('refreshExpiresIn');
});

describe('a number of seconds', () => {
  test.each([
    [300, 300],
    [0, 0],
    [299.9, 299],
    ['300', 300],
    ['0300', 300],
  ])('%j is %d', (value, expected) => {
    expect(response({ expires_in: value })).toHaveProperty('expiresIn', expected);
    expect(response({ 'not-before-policy': value })).toHaveProperty('notBeforePolicy', expected);
  });

  test.each([
    null,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    1e300,
    '',
    '3e2',
    '-1',
    '0x10',
    '300s',
    '9'.repeat(16),
    true,
    {},
    [300],
  ])('%j is not one, and counts as missing', value => {
    expect(response({ expires_in: value })).not.toHaveProperty('expiresIn');
    expect(response({ refresh_token: 'r', refresh_expires_in: value })).not.toHaveProperty(
      'refreshExpiresIn',
    );
    expect(response({ access_token: jwt({ exp: value }) })).not.toHaveProperty('expiresIn');
    expect(response({ 'not-before-policy': value })).toHaveProperty('notBeforePolicy', 0);
  });
});

test.each([
  [['openid', 'orders.read'], 'openid orders.read'],
  [['openid'], 'openid'],
  [[], 'openid wanted'],
  [['openid', 7], 'openid wanted'],
  [['openid', ''], 'openid wanted'],
])('the granted scopes %j become %j', (scope, granted) => {
  expect(response({ scope })).toHaveProperty('scope', granted);
});

test.each([null, '', 7, true, {}, ['x']])('%j is not text, and counts as missing', value => {
  const scope = Array.isArray(value) ? [value] : value;
  const members = { refresh_token: value, id_token: value, session_state: value, scope };
  expect(response(members)).toEqual(response({}));
});

test.each([undefined, null, 'Bearer', 'bearer', 'BEARER'])(
  'the token type %j is written Bearer',
  tokenType => {
    expect(response({ token_type: tokenType })).toHaveProperty('tokenType', 'Bearer');
  },
);

test.each(['DPoP', 'mac', '', 7, {}])('a token of type %j cannot be used', tokenType => {
  expect(() => response({ token_type: tokenType })).toThrow(ProviderFault);
});

test.each([undefined, null, '', 7, {}])('%j is not an access token', accessToken => {
  expect(() => read({ access_token: accessToken })).toThrow(ProviderFault);
});

test.each([
  ['no mark', { access_token: jwt({ sub: 'alice' }) }],
  ['a mark of 0', { access_token: jwt({ sub: 'alice' }), 'not-before-policy': 0 }],
  ['a mark below 0', { access_token: jwt({ sub: 'alice' }), 'not-before-policy': -5 }],
  ['no subject', { access_token: jwt({}), 'not-before-policy': 5 }],
  ['a subject that is a number', { access_token: jwt({ sub: 7 }), 'not-before-policy': 5 }],
  ['an access token that is no JWT', { access_token: 'opaque', 'not-before-policy': 5 }],
])('with %s nothing is learnt', (_name, members) => {
  expect(read(members).mark).toBeUndefined();
});

test.each([
  'a.b',
  'a.b.c',
  'a..c',
  'a.bnVsbA.c',
  'a.b.c.d.e',
  `a.${'W'.repeat(1_000)}.c`,
  `a.${jwt('text').split('.')[1]}.c`,
])('the access token %s has no claims and passes as it is', accessToken => {
  expect(response({ access_token: accessToken })).toEqual({ ...response({}), accessToken });
});
