import { expect, test } from 'vitest';
import { GatewayError } from '../../../../src/core/index.ts';
import { authorizeUrl, chosenParameters } from '../../../../src/identity/signin/authorization-url.ts';

const metadata = {
  issuer: 'https://id.example',
  authorizationEndpoint: 'https://id.example/auth?tenant=a%20b',
  tokenEndpoint: 'https://id.example/token',
  keySetUrl: 'https://id.example/certs',
  revocationEndpoint: null,
  endSessionEndpoint: null,
  introspectionEndpoint: null,
};
const authorizationParameters = { fixed: {}, allow: [] };
const parametersOf = (url: string) => [...new URL(url).searchParams];

test('the query of the endpoint stays, followed by the four parameters', () => {
  const url = authorizeUrl(metadata, {
    clientId: 'gateway',
    redirectUri: 'https://app.example/cb',
    scope: 'openid profile',
    authorizationParameters,
  });
  expect(url.startsWith('https://id.example/auth?')).toBe(true);
  expect(parametersOf(url)).toEqual([
    ['tenant', 'a b'],
    ['redirect_uri', 'https://app.example/cb'],
    ['scope', 'openid profile'],
    ['client_id', 'gateway'],
    ['response_type', 'code'],
  ]);
});

test.each([
  ...['HTTP://App.example:80/cb?x=%7e&y=1#z', 'myapp://callback'],
  ...['urn:ietf:wg:oauth:2.0:oob', 'https://app.example/ü'],
])('the redirect uri %s is in it as configured', redirectUri => {
  const url = authorizeUrl(metadata, {
    clientId: 'a&b=c',
    redirectUri,
    scope: 'openid',
    authorizationParameters,
  });
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(redirectUri);
  expect(new URL(url).searchParams.get('client_id')).toBe('a&b=c');
});

test('fixed parameters and those that a client chose follow, and none changes the query of the endpoint', () => {
  const options = {
    ...{ clientId: 'gateway', redirectUri: 'https://app.example/cb', scope: 'openid' },
    authorizationParameters: {
      fixed: { audience: 'https://api.example/?a=1&b' },
      allow: ['login_hint', 'tenant'],
    },
  };
  const hint = 'a+b@example.com&redirect_uri=https://evil.example\r\n';
  const url = authorizeUrl(
    metadata,
    options,
    new Map([
      ['login_hint', hint],
      ['tenant', 'evil'],
    ]),
  );
  expect(parametersOf(url)).toEqual([
    ['tenant', 'a b'],
    ['redirect_uri', 'https://app.example/cb'],
    ['scope', 'openid'],
    ['audience', 'https://api.example/?a=1&b'],
    ['login_hint', hint],
    ['client_id', 'gateway'],
    ['response_type', 'code'],
  ]);
});

const chosen = (query: string) =>
  chosenParameters(query, { fixed: { audience: 'api' }, allow: ['login_hint', 'prompt'] });

test.each([
  ['', {}],
  ['?', {}],
  ['?login_hint=a%20b%26c&x=1', { login_hint: 'a b&c' }],
  ['?prompt=login&login_hint=a+b', { login_hint: 'a b', prompt: 'login' }],
  ['?login_hint=', {}],
  ['?redirect_uri=https://evil.example&client_id=x&scope=admin&state=s&nonce=n&code_challenge=c', {}],
  ['?audience=other&LOGIN_HINT=x&login_hint[]=y&__proto__=z', {}],
  ['?login_hint=%ff', { login_hint: '\ufffd' }],
])('of the query %s a client chooses only what is listed', (query, expected) => {
  expect(chosen(query)).toEqual(new Map(Object.entries(expected)));
});

test('a parameter that is given twice is refused, since nobody could say which one counts', () => {
  const refused = chosen('?prompt=none&login_hint=a&prompt=login');
  expect(refused).toBeInstanceOf(GatewayError);
  expect(refused).toMatchObject({ status: 400, message: 'The parameter prompt is given more than once.' });
});
