import { expect, test } from 'vitest';
import { authorizeUrl } from '../../../../src/identity/signin/signin.ts';

const metadata = {
  issuer: 'https://id.example',
  authorizationEndpoint: 'https://id.example/auth?tenant=a%20b',
  tokenEndpoint: 'https://id.example/token',
  keySetUrl: 'https://id.example/certs',
  revocationEndpoint: null,
  endSessionEndpoint: null,
  introspectionEndpoint: null,
};
const parametersOf = (url: string) => [...new URL(url).searchParams];

test('the query of the endpoint stays, followed by the four parameters', () => {
  const url = authorizeUrl(metadata, {
    clientId: 'gateway',
    redirectUri: 'https://app.example/cb',
    scope: 'openid profile',
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
  'HTTP://App.example:80/cb?x=%7e&y=1#z',
  'myapp://callback',
  'urn:ietf:wg:oauth:2.0:oob',
  'https://app.example/ü',
])('the redirect uri %s is in it as configured', redirectUri => {
  const url = authorizeUrl(metadata, { clientId: 'a&b=c', redirectUri, scope: 'openid' });
  expect(new URL(url).searchParams.get('redirect_uri')).toBe(redirectUri);
  expect(new URL(url).searchParams.get('client_id')).toBe('a&b=c');
});
