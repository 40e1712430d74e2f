import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

const PROVIDER = `identity_provider: { issuer: "https://id", client_id: g, client_authentication: none, redirect_uri: "https://a/" }
access_tokens: { audience: api }
upstreams: { api: { url: "http://api:3000" } }
`;

/** The diagnostics of this `sign_in`, written in line 4, with routes of these paths from line 6 on. */
function diagnosticsOf(signIn: string, ...paths: string[]): Promise<string[]> {
  const routes = ['/**', ...paths].map(path => `  - { path: ${path}, upstream: api }\n`).join('');
  return diagnosticsIn(`${PROVIDER}sign_in: ${signIn}\nroutes:\n${routes}`);
}

describe('a path of sign_in', () => {
  it('may be any that no route has', async () => {
    expect(await diagnosticsOf('{ refresh: /v1/users/refresh }', '"/v1/users/{id}"', '/v1/users/**')).toEqual(
      [],
    );
  });

  it('may not be that of a route, of whatever methods and spelling', async () => {
    const routes = ['"/V1/users/Refresh/", methods: [GET]', '"/v1/users/{id}"'];
    expect(await diagnosticsOf('{ refresh: /v1/users/refresh }', ...routes)).toEqual([
      '7:13: routes[1].path: the gateway serves this path itself, for sign-in: remove the route',
    ]);
  });

  it('may not be that of an anonymous endpoint, nor lie beside one', async () => {
    expect(await diagnosticsOf('{ refresh: /v1/anonymous/auth/ }')).toEqual([
      '4:21: sign_in.refresh: this path is that of an anonymous endpoint: choose another',
    ]);
    for (const path of ['/v1/anonymous/refresh', '/V1/Anonymous', '/v1/anonymous/a/b'])
      expect(await diagnosticsOf(`{ refresh: ${path} }`)).toEqual([
        '4:21: sign_in.refresh: paths under /v1/anonymous are for the anonymous endpoints: choose another',
      ]);
  });

  it('is of one endpoint', async () => {
    expect(await diagnosticsOf('{ refresh: /session, sign_out: /Session/ }')).toEqual([
      '4:41: sign_in.sign_out: this path is that of "refresh": choose another',
    ]);
  });

  it('is one path, from the root', async () => {
    expect(await diagnosticsOf('{ refresh: v1/refresh }')).toEqual([
      expect.stringMatching(/^4:21: sign_in\.refresh: .*write "\/v1\/refresh"/),
    ]);
    for (const path of ['"/v1/{x}"', '/v1/**'])
      expect(await diagnosticsOf(`{ refresh: ${path} }`)).toEqual([
        '4:21: sign_in.refresh: an endpoint has one path: write it without {parameters} and **',
      ]);
  });
});

describe('sign_in', () => {
  it('names an endpoint', async () => {
    expect(await diagnosticsOf('{}')).toEqual([
      '4:10: sign_in: names no endpoint: add "refresh" or "sign_out", or leave out "sign_in"',
    ]);
  });

  it('needs a provider', async () => {
    const text = `sign_in: { refresh: /refresh }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: none }]
`;
    expect(await diagnosticsIn(text)).toEqual([
      '1:1: "sign_in" has no effect without "identity_provider", which issues the tokens',
    ]);
  });
});

describe('sign_out', () => {
  const ENDPOINTS = '{ authorization: "https://id/a", token: "https://id/t", key_set: "https://id/k" }';
  const of = (endpoints: string, signIn: string) =>
    diagnosticsIn(
      `${PROVIDER.replace(', client_id', `, endpoints: ${endpoints}, client_id`)}sign_in: ${signIn}
routes: [{ path: /**, upstream: api }]
`,
    );

  it('needs a place where the provider ends what it ends, if no document names one', async () => {
    const needs = (key: string) =>
      `4:22: sign_in.sign_out: needs "${key}" under "endpoints" of the provider: with the three others, no discovery document is read`;
    expect(await of(ENDPOINTS, '{ sign_out: /sign-out }')).toEqual([needs('revocation')]);
    expect(await of(ENDPOINTS, '{ sign_out: /sign-out, sign_out_ends: session }')).toEqual([
      needs('end_session'),
    ]);
    const both = ENDPOINTS.replace(' }', ', revocation: "https://id/r", end_session: "https://id/e" }');
    for (const ends of ['refresh_token', 'session'])
      expect(await of(both, `{ sign_out: /sign-out, sign_out_ends: ${ends} }`)).toEqual([]);
    expect(await of(ENDPOINTS, '{ sign_out: /sign-out, sign_out_ends: nothing }')).toEqual([]);
    expect(await of('{ token: "https://id/t" }', '{ sign_out: /sign-out }')).toEqual([]);
    const listed = `identity_providers:
  - { name: old, issuer: "https://old", audience: api }
  - { name: new, issuer: "https://id", audience: api, endpoints: ${ENDPOINTS}, client_id: g, client_authentication: none, redirect_uri: "https://a/" }
sign_in: { sign_out: /sign-out }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;
    expect(await diagnosticsIn(listed)).toEqual([needs('revocation')]);
  });

  it('is what sign_out_ends is about', async () => {
    expect(await diagnosticsOf('{ refresh: /refresh, sign_out_ends: session }')).toEqual([
      '4:31: sign_in: "sign_out_ends" has no effect without "sign_out"',
    ]);
  });
});
