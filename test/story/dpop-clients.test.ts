import * as client from 'openid-client';
import { describe, expect, it } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { type IdentitySettings, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { startPlainProvider } from '../support/plain-provider.ts';
import { clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { authorizeUrl, json, redeeming } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, values } from '../support/wire/index.ts';

const ADA = clientKey();
const REFRESH = '/refresh';

/** A provider of the test's own, with its gateway, and what sends a code or a refresh token with these lines. */
async function signingIn(dpop: unknown = 'accepted', settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  const { provider } = issuer;
  const { gateway } = await startGatewayOf(issuer, {
    tokens: { dpop },
    config: { sign_in: { refresh: REFRESH } },
    ...settings,
  });
  const proof = secret(proofOf(ADA, { htm: 'POST', htu: `${provider.issuer}/token` }));
  const redirectUri = 'https://app.example/callback';
  const redeem = (...lines: string[]) =>
    gateway.ask(redeeming({ code: secret('the-code'), redirectUri }, ...lines));
  const refresh = (...lines: string[]) => {
    const body = JSON.stringify({ refreshToken: secret('the-refresh-token') });
    return gateway.ask(withBody(`POST ${REFRESH}`, body, ...lines));
  };
  const outcomes = async () => [
    ...(await gateway.counted('weir_sign_ins_total')),
    ...(await gateway.counted('weir_refreshes_total')),
  ];
  return { issuer, provider, gateway, proof, redeem, refresh, outcomes };
}

/** The provider's answer with this nonce for the next proof. */
const withNonce =
  (nonce: string, script: ReturnType<typeof scripts.tokens>): typeof script =>
  (response, socket) => {
    response.setHeader('DPoP-Nonce', nonce);
    script(response, socket);
  };

describe('a sign-in or refresh with a proof', () => {
  it.each(['redeem', 'refresh'] as const)(
    'takes it to the provider, and brings its nonce back: %s',
    async how => {
      const { provider, proof, issuer, ...calls } = await signingIn();
      const access_token = issuer.token({ cnf: ADA.cnf });
      provider.token = withNonce('provider-nonce', scripts.tokens({ token_type: 'DPoP', access_token }));
      const response = await calls[how](`DPoP: ${proof}`);
      expect(response.status, response.body.toString()).toBe(200);
      expect(json(response)).toMatchObject({ tokenType: 'DPoP', accessToken: access_token });
      expect(values(response.fields, 'dpop-nonce')).toEqual(['provider-nonce']);
      expect(provider.tokenRequests.map(({ headers }) => headers['dpop'])).toEqual([proof]);
    },
  );

  it('has the token type that the provider says', async () => {
    const { provider, proof, redeem } = await signingIn();
    provider.token = scripts.tokens({ token_type: 'dpop' });
    expect(json(await redeem(`DPoP: ${proof}`))['tokenType']).toBe('DPoP');
    provider.token = scripts.tokens({ token_type: 'bearer' });
    expect(json(await redeem(`DPoP: ${proof}`))['tokenType']).toBe('Bearer');
    provider.token = scripts.tokens({ token_type: 'mac' });
    expect((await redeem(`DPoP: ${proof}`)).status).toBe(503);
    // A bound token for a client that sent no proof is of no use to it.
    provider.token = scripts.tokens({ token_type: 'DPoP' });
    expect((await redeem()).status).toBe(503);
  });

  it.each(['redeem', 'refresh'] as const)('says which nonce the provider wants: %s', async how => {
    const { provider, proof, outcomes, ...calls } = await signingIn();
    provider.token = withNonce('another', scripts.json(400, { error: 'use_dpop_nonce' }));
    const response = await calls[how](`DPoP: ${proof}`);
    expect(response.status).toBe(401);
    expect(values(response.fields, 'www-authenticate')).toEqual(['DPoP error="use_dpop_nonce"']);
    expect(values(response.fields, 'dpop-nonce')).toEqual(['another']);
    expect(json(response)['message']).toContain('was not used');
    expect(await outcomes()).toContainEqual(['{outcome="proof_refused"}', 1]);
  });

  it('says that the provider does not accept the proof', async () => {
    const { provider, proof, redeem } = await signingIn();
    provider.token = scripts.json(400, { error: 'invalid_dpop_proof' });
    const response = await redeem(`DPoP: ${proof}`);
    expect([response.status, header(response, 'www-authenticate')]).toEqual([
      401,
      'DPoP error="invalid_dpop_proof"',
    ]);
    // Without a proof it can only mean the gateway.
    expect((await redeem()).status).toBe(500);
  });

  it('passes one proof on, and nothing else', async () => {
    const { provider, proof, redeem, refresh } = await signingIn();
    const wrong = [
      [`DPoP: ${proof}`, `DPoP: ${proof}`],
      ['DPoP: x'],
      ['DPoP: '],
      [`DPoP: ${proof}, ${proof}`],
    ];
    for (const lines of wrong)
      for (const response of [await redeem(...lines), await refresh(...lines)])
        expect([response.status, header(response, 'www-authenticate')], lines.join()).toEqual([
          401,
          'DPoP error="invalid_dpop_proof"',
        ]);
    expect(provider.tokenRequests).toEqual([]);
  });

  it('passes no odd nonce on', async () => {
    const { provider, proof, redeem } = await signingIn();
    for (const nonce of ['a b', 'a"b', 'x'.repeat(513)]) {
      provider.token = withNonce(nonce, scripts.tokens());
      const response = await redeem(`DPoP: ${proof}`);
      expect([response.status, values(response.fields, 'dpop-nonce')]).toEqual([200, []]);
    }
  });

  it('is counted where it hands out a token that is not bound although all have to be', async () => {
    const { provider, gateway, issuer, proof, redeem } = await signingIn('required');
    provider.token = scripts.tokens({ access_token: issuer.token({ cnf: ADA.cnf }), token_type: 'DPoP' });
    expect((await redeem(`DPoP: ${proof}`)).status).toBe(200);
    provider.token = scripts.tokens({ access_token: issuer.token() });
    expect((await redeem()).status).toBe(200);
    const refused = await gateway.counted('weir_sign_in_tokens_refused_total');
    expect([...refused].filter(([, count]) => count > 0)).toEqual([['{reason="unbound"}', 1]]);
  });

  it('passes none on where dpop is off', async () => {
    const { provider, proof, redeem } = await signingIn('off');
    expect((await redeem(`DPoP: ${proof}`, 'DPoP: x')).status).toBe(200);
    expect(provider.tokenRequests.map(({ headers }) => headers['dpop'])).toEqual([undefined]);
  });
});

/** Lets openid-client sign in and refresh at the gateway, although it asks with forms, and answers it as a token endpoint would. */
function throughGateway(
  gateway: TestGateway,
  tokenEndpoint: string,
  redirectUri: string,
): client.CustomFetch {
  const origin = `http://127.0.0.1:${gateway.port}`;
  return async (url, { method, headers, body }) => {
    if (url !== tokenEndpoint)
      return fetch(url, { method, headers, ...(body ? { body: String(body) } : {}) });
    const form = new URLSearchParams(String(body));
    const [path, members] =
      form.get('grant_type') === 'refresh_token'
        ? [REFRESH, { refreshToken: form.get('refresh_token') }]
        : ['/v1/anonymous/auth', { code: form.get('code'), redirectUri }];
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', dpop: headers['dpop'] ?? '' },
      body: JSON.stringify(members),
    });
    if (response.status !== 200) return response;
    const { accessToken, tokenType, refreshToken } = (await response.json()) as Record<string, string>;
    for (const token of [accessToken, refreshToken]) secret(String(token));
    const answer = { access_token: accessToken, token_type: tokenType, refresh_token: refreshToken };
    return Response.json(answer, { headers: response.headers });
  };
}

it('a real client signs in, refreshes and calls, through a real provider that wants nonces, and a gateway that does', async () => {
  const provider = await startPlainProvider({
    client: { grant_types: ['authorization_code', 'refresh_token'], dpop_bound_access_tokens: true },
    resource: 'urn:api',
    features: {
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:api',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          ...{ scope: 'orders', audience: 'api', accessTokenFormat: 'jwt' },
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  atEnd(() => provider.close());
  const { gateway, upstream } = await startIdentityGateway({
    issuer: provider.issuer,
    secret: 'plain-secret',
    redirectUri: provider.callbackUri,
    provider: { client_authentication: 'client_secret_post', scope: 'openid orders' },
    tokens: {
      principal: ['client_id', 'sub'],
      bots: 'none',
      dpop: { mode: 'required', nonce: '5m' },
      leeway: '2m',
    },
    config: { sign_in: { refresh: REFRESH } },
  });
  await gateway.ready();
  const redirect = provider.callbackUri;
  const server = { issuer: provider.issuer, token_endpoint: `${provider.issuer}/token` };
  const configuration = new client.Configuration(server, 'app', undefined, client.None());
  client.allowInsecureRequests(configuration);
  configuration[client.customFetch] = throughGateway(gateway, server.token_endpoint, redirect);
  const keys = await client.randomDPoPKeyPair('ES256');
  const DPoP = client.getDPoPHandle(configuration, keys);

  const { code } = await walkLogin(await authorizeUrl(gateway), redirect, 'ada', 'any');
  const callback = new URL(`${redirect}?code=${code}&iss=${encodeURIComponent(provider.issuer)}`);
  const signedIn = await client.genericGrantRequest(
    configuration,
    'authorization_code',
    { code: callback.searchParams.get('code') ?? '' },
    { DPoP },
  );
  expect(signedIn).toMatchObject({ token_type: 'dpop', refresh_token: expect.any(String) });
  const refreshed = await client.refreshTokenGrant(configuration, signedIn.refresh_token ?? '', undefined, {
    DPoP,
  });
  expect(refreshed.access_token).not.toBe(signedIn.access_token);

  const url = new URL(`http://127.0.0.1:${gateway.port}/orders?page=2`);
  for (const { access_token } of [signedIn, refreshed]) {
    const call = (method: string) =>
      client.fetchProtectedResource(configuration, access_token, url, method, null, undefined, { DPoP });
    expect([(await call('GET')).status, (await call('DELETE')).status]).toEqual([200, 200]);
  }
  expect(upstream.requests).toHaveLength(4);
  expect(values(upstream.requests[0]?.fields ?? [], 'x-auth-subject')).toEqual(['ada']);
  // The first call was told the nonce, and none after it.
  const refused = await gateway.counted('weir_tokens_refused_total');
  expect(refused.get('{reason="proof_nonce"}')).toBe(1);
  // A thief of the token lacks the key.
  const thief = clientKey();
  const claims = { htu: 'http://gateway.test/', ath: hashOfToken(refreshed.access_token) };
  const stolen = [`Authorization: DPoP ${refreshed.access_token}`, `DPoP: ${proofOf(thief, claims)}`];
  expect((await gateway.ask(head('GET /', ...stolen))).status).toBe(401);
  expect((await gateway.ask(head('GET /', `Authorization: Bearer ${refreshed.access_token}`))).status).toBe(
    401,
  );
});

describe('a nonce of the gateway', () => {
  async function withNonces() {
    const issuer = await startIssuer();
    const { gateway, upstream } = await startGatewayOf(issuer, {
      tokens: { dpop: { mode: 'accepted', nonce: '1m' }, leeway: '5m' },
    });
    const token = issuer.token({ cnf: ADA.cnf });
    const ask = (claims: Readonly<Record<string, unknown>> = {}) => {
      const proof = secret(proofOf(ADA, { htu: 'http://gateway.test/', ath: hashOfToken(token), ...claims }));
      return gateway.ask(head('GET /', `Authorization: DPoP ${token}`, `DPoP: ${proof}`));
    };
    return { gateway, upstream, ask };
  }

  it('is asked for, and a proof with it is good', async () => {
    const { ask, upstream } = await withNonces();
    const refused = await ask();
    expect(refused.status).toBe(401);
    expect(values(refused.fields, 'www-authenticate')[1]).toMatch(/^DPoP error="use_dpop_nonce", algs="/);
    const nonce = header(refused, 'dpop-nonce');
    const good = await ask({ nonce });
    expect([good.status, values(good.fields, 'dpop-nonce')]).toEqual([200, []]);
    expect((await ask({ nonce: 'made-up' })).status).toBe(401);
    expect(upstream.requests).toHaveLength(1);
  });

  it('is followed by the next one before it ends, with the response of the service', async () => {
    const { gateway, ask } = await withNonces();
    const nonce = header(await ask(), 'dpop-nonce');
    gateway.time.advance(40_000);
    const good = await ask({ nonce });
    const next = header(good, 'dpop-nonce');
    expect(good.status).toBe(200);
    gateway.time.advance(30_000);
    expect((await ask({ nonce })).status).toBe(401);
    expect((await ask({ nonce: next })).status).toBe(200);
  });
});
