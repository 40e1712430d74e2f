import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { expectError } from '../support/error-object.ts';
import { secret } from '../support/secrets.ts';
import { authorizeUrl, codeFor, redeem, redeeming } from '../support/sign-in-client.ts';
import { tempText } from '../support/temp.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { gatewayOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { tokensIn } from './users.ts';

const PKCE = { id: 'pkce', secret: 'pkce-client-secret' };

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
  await realm.addClient({
    clientId: PKCE.id,
    secret: PKCE.secret,
    redirectUris: [REDIRECT_URI],
    attributes: { 'pkce.code.challenge.method': 'S256' },
  });
});

describe('a client that must use PKCE', () => {
  const pkceGateway = async () =>
    (await gatewayOf(realm, { secret: PKCE.secret, provider: { client_id: PKCE.id } })).gateway;

  /** Signs in with a challenge that the client has added to the URL. */
  async function codeAndVerifier(gateway: TestGateway) {
    const codeVerifier = secret(randomBytes(32).toString('base64url'));
    const url = new URL(await authorizeUrl(gateway));
    url.searchParams.set('code_challenge', createHash('sha256').update(codeVerifier).digest('base64url'));
    url.searchParams.set('code_challenge_method', 'S256');
    const { code } = await walkLogin(url.href, REDIRECT_URI, 'alice', 'wonderland');
    return { code: secret(code), codeVerifier };
  }

  test('redeems its code with the verifier', async () => {
    const gateway = await pkceGateway();
    const body = { ...(await codeAndVerifier(gateway)), redirectUri: REDIRECT_URI };
    tokensIn(await gateway.ask(redeeming(body)));
  });

  test('gets no tokens for a code without its verifier, or with another', async () => {
    const gateway = await pkceGateway();
    const { code } = await codeAndVerifier(gateway);
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
    const other = {
      ...(await codeAndVerifier(gateway)),
      codeVerifier: randomBytes(32).toString('base64url'),
    };
    expectError(await gateway.ask(redeeming({ ...other, redirectUri: REDIRECT_URI })), 400, 3);
  });

  test('gets no code without a challenge', async () => {
    await expect(codeFor(await pkceGateway(), REDIRECT_URI)).rejects.toThrow('invalid_request');
  });
});

describe('a gateway with a private key', () => {
  const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
  const known = pair();

  async function gatewayWith({ privateKey }: ReturnType<typeof pair>) {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { gateway } = await gatewayOf(realm, {
      provider: {
        client_id: 'keyed',
        client_authentication: 'private_key_jwt',
        client_secret_file: undefined,
        private_key_file: await tempText('client-key.pem', pem),
        private_key_id: 'gateway-2026',
      },
    });
    return gateway;
  }

  beforeAll(async () => {
    const jwk = {
      ...known.publicKey.export({ format: 'jwk' }),
      kid: 'gateway-2026',
      use: 'sig',
      alg: 'RS256',
    };
    await realm.addClient({
      clientId: 'keyed',
      redirectUris: [REDIRECT_URI],
      clientAuthenticatorType: 'client-jwt',
      attributes: { 'use.jwks.string': 'true', 'jwks.string': JSON.stringify({ keys: [jwk] }) },
    });
  });

  test('redeems codes without a secret', async () => {
    const gateway = await gatewayWith(known);
    tokensIn(await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI));
  });

  test('that Keycloak does not know gets 500, and nothing of it is in the response', async () => {
    const gateway = await gatewayWith(pair());
    const refused = await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI);
    expectError(refused, 500, 13);
    expect(refused.body.toString()).not.toMatch(/client|key|assertion/i);
  });
});
