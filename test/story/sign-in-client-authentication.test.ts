import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { GatewayError } from '../../src/core/index.ts';
import type { ClientAuthentication, ProviderOptions } from '../../src/identity/signin/index.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { type ScriptedOptions, startScriptedProvider } from '../support/scripted-provider.ts';
import { openSignInRoom, type SignInRoom } from '../support/sign-in-room.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;

/** Signs in at a real provider that knows the client by `metadata`, and redeems the code with `clientAuthentication`. */
async function signInWith(
  clientAuthentication: ClientAuthentication,
  metadata: Readonly<Record<string, unknown>>,
) {
  const redirectUri = 'https://app.example/cb';
  const client = {
    client_id: 'gateway',
    grant_types: ['authorization_code'],
    redirect_uris: [redirectUri],
    ...metadata,
  };
  const provider = await startDemoProvider({ clients: [client] });
  const room = openSignInRoom({ issuer: provider.issuer }, { redirectUri, clientAuthentication });
  cleanups.push(room.close);
  await room.ready();
  const url = room.signIn.authorizeUrl();
  if (url instanceof GatewayError) throw url;
  const { code } = await walkLogin(JSON.parse(url.body.toString()).url, redirectUri, 'alice', 'wonderland');
  return { response: await room.redeem({ code, redirectUri }), room };
}

/** That the provider takes a request to revoke from the gateway: it would refuse one from another client. */
async function expectKnownToSignOut(room: SignInRoom): Promise<void> {
  const { response } = await room.signOut({ refreshToken: 'unknown' });
  expect(response).toMatchObject({ status: 204 });
}

describe('the provider knows the gateway', () => {
  const odd = 'a secret: +%&=/"~, 100%';

  test.each(['client_secret_basic', 'client_secret_post'] as const)(
    'by %s with any characters',
    async kind => {
      const client = { client_secret: odd, token_endpoint_auth_method: kind };
      const { response, room } = await signInWith({ kind, secret: odd }, client);
      expect(response).toHaveProperty('accessToken');
      await expectKnownToSignOut(room);
    },
  );

  test('by its id alone, as a public client', async () => {
    const redirectUri = 'https://app.example/cb';
    const fake = await startScriptedProvider();
    const room = openSignInRoom(
      { issuer: fake.issuer },
      { redirectUri, clientAuthentication: { kind: 'none' } },
    );
    cleanups.push(room.close, fake.close);
    await room.ready();
    expect(await room.redeem({ code: 'c', redirectUri })).toHaveProperty('accessToken');
    expect(new URLSearchParams(fake.tokenRequests[0]?.body).get('client_id')).toBe('gateway');
    expect(fake.tokenRequests[0]?.headers.authorization).toBeUndefined();
  });

  test.each([
    ['RS256', rsa(), null],
    ['PS256', rsa(), 'PS256'],
    ['ES256', ec('P-256'), null],
  ] as const)('by an assertion signed with %s', async (signs, key, algorithm) => {
    const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid: 'k1', use: 'sig' };
    const { response, room } = await signInWith(
      {
        kind: 'private_key_jwt',
        key: pem(key),
        keyId: 'k1',
        algorithm,
        audience: 'issuer',
        certificate: null,
      },
      {
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: signs,
        jwks: { keys: [jwk] },
      },
    );
    expect(response).toHaveProperty('accessToken');
    await expectKnownToSignOut(room);
  });
});

describe('over TLS', () => {
  let certificates: Certificates;
  let stranger: Certificates;
  beforeAll(() => {
    certificates = makeCertificates();
    stranger = makeCertificates();
  });
  const redirectUri = 'https://app.example/cb';

  async function open(
    tls: Partial<ProviderOptions['tls']>,
    options: ScriptedOptions = {},
    kind: 'tls_client_auth' | 'none' = 'tls_client_auth',
  ) {
    const { server, ca } = certificates;
    const fake = await startScriptedProvider({
      ...options,
      tls: { cert: server.certificate, key: server.key, ca, requestCert: true, rejectUnauthorized: false },
    });
    const room = openSignInRoom(
      { issuer: fake.issuer, timeoutMs: 2_000, tls: { ca, certificate: null, key: null, ...tls } },
      { redirectUri, clientAuthentication: { kind } },
    );
    cleanups.push(room.close, fake.close);
    return { fake, room };
  }

  test('the provider knows the gateway by its certificate', async () => {
    const { client } = certificates;
    const { fake, room } = await open({ certificate: client.certificate, key: client.key });
    await room.ready();
    expect(await room.redeem({ code: 'c', redirectUri })).toHaveProperty('accessToken');
    expect(fake.tokenRequests).toMatchObject([{ certificate: 'weir-gateway' }]);
    expect(new URLSearchParams(fake.tokenRequests[0]?.body).get('client_id')).toBe('gateway');
  });

  test('a token endpoint that demands certificates takes the one of the gateway and no stranger', async () => {
    const { client, server, ca } = certificates;
    const tls = {
      cert: server.certificate,
      key: server.key,
      ca,
      requestCert: true,
      rejectUnauthorized: true,
    };
    const strict = await startScriptedProvider({ tls });
    cleanups.push(strict.close);
    const document = { mtls_endpoint_aliases: { token_endpoint: `${strict.issuer}/token` } };
    const known = await open({ certificate: client.certificate, key: client.key }, { document });
    await known.room.ready();
    expect(await known.room.redeem({ code: 'c', redirectUri })).toHaveProperty('accessToken');
    expect(strict.tokenRequests).toMatchObject([{ certificate: 'weir-gateway' }]);
    expect(known.fake.tokenRequests).toHaveLength(0);

    const wrong = stranger.client;
    const unknown = await open({ certificate: wrong.certificate, key: wrong.key }, { document });
    await unknown.room.ready();
    expect(await unknown.room.redeem({ code: 'c', redirectUri })).toMatchObject({ status: 503 });
    expect(strict.tokenRequests).toHaveLength(1);
  });

  test('a provider with an untrusted certificate is not used', async () => {
    const { fake, room } = await open({ ca: stranger.ca }, {}, 'none');
    await expect.poll(() => room.discovered.length).toBeGreaterThan(0);
    expect(room.discovered[0]?.cause?.message).toMatch(/^cannot connect to .*(SIGNATURE|ISSUER|VERIFY|CERT)/);
    expect(fake.discoveries).toBe(0);
  });
});
