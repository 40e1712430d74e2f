import { createPublicKey, generateKeyPairSync, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { clientAuth } from '../../../../src/identity/signin/client-request.ts';
import type { AssertionAlgorithm } from '../../../../src/identity/signin/options.ts';
import { makeCertificates } from '../../../support/certificates.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const TOKEN_ENDPOINT = 'https://id.example/token';
const withKey = (key: string, algorithm: AssertionAlgorithm | null, keyId: string | null = null) =>
  clientAuth({ kind: 'private_key_jwt', key, keyId, algorithm, audience: 'issuer', certificate: null })(
    TOKEN_ENDPOINT,
  );

async function assertionOf(
  key: KeyObject,
  algorithm: AssertionAlgorithm | null,
  keyId: string | null,
): Promise<string> {
  const body = new URLSearchParams();
  await withKey(pem(key), algorithm, keyId)(
    { issuer: 'https://id.example' },
    { client_id: 'gateway' },
    body,
    new Headers(),
  );
  expect(body.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  return body.get('client_assertion') ?? '';
}

const part = (assertion: string, index: number) =>
  JSON.parse(Buffer.from(assertion.split('.')[index] ?? '', 'base64url').toString());

test.each<[AssertionAlgorithm, KeyObject, AssertionAlgorithm | null]>([
  ['RS256', rsa, null],
  ['RS512', rsa, 'RS512'],
  ['PS384', rsa, 'PS384'],
  ['ES256', ec('P-256'), null],
  ['ES384', ec('P-384'), 'ES384'],
  ['ES512', ec('P-521'), null],
])('an assertion is signed with %s and names the gateway', async (alg, key, algorithm) => {
  const assertion = await assertionOf(key, algorithm, 'k1');
  expect(part(assertion, 0)).toEqual({ alg, kid: 'k1' });
  expect(part(assertion, 1)).toMatchObject({ iss: 'gateway', sub: 'gateway', aud: 'https://id.example' });
  expect(part(assertion, 1).jti.length).toBeGreaterThan(20);
  if (!alg.startsWith('PS')) {
    const [header, payload, signature = ''] = assertion.split('.');
    const publicKey = { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' } as const;
    const bytes = Buffer.from(`${header}.${payload}`);
    expect(verify(`sha${alg.slice(2)}`, bytes, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  }
});

test.each([
  // Providers that do not decode take these as well (panva/oauth4webapi#148).
  ['my-app.v2_eu', 'Q~8_a-b.c*', 'my-app.v2_eu:Q~8_a-b.c*'],
  // RFC 6749, appendix B.
  ['a:b', ' %&+\u00a3\u20ac', 'a%3Ab:+%25%26%2B%C2%A3%E2%82%AC'],
])('the id and the secret %s %s are encoded where forms do it', async (client_id, secret, expected) => {
  const headers = new Headers();
  const authenticate = clientAuth({ kind: 'client_secret_basic', secret })(TOKEN_ENDPOINT);
  await authenticate({ issuer: 'https://id.example' }, { client_id }, new URLSearchParams(), headers);
  const [scheme, credentials = ''] = headers.get('authorization')?.split(' ') ?? [];
  expect([scheme, Buffer.from(credentials, 'base64').toString()]).toEqual(['Basic', expected]);
});

test('a key in the older PEM form works as well', () => {
  const pkcs1 = rsa.export({ type: 'pkcs1', format: 'pem' }).toString();
  expect(withKey(pkcs1, null)).toBeTypeOf('function');
});

test.each<[string, string, AssertionAlgorithm | null]>([
  ['no key', 'marker', null],
  ['a public key', createPublicKey(rsa).export({ type: 'spki', format: 'pem' }).toString(), null],
  [
    'an encrypted key',
    rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }).toString(),
    null,
  ],
  ['an Ed25519 key', pem(generateKeyPairSync('ed25519').privateKey), null],
  ['a key on another curve', pem(ec('secp256k1')), null],
  ['an RSA key for ES256', pem(rsa), 'ES256'],
  ['an EC key for RS256', pem(ec('P-256')), 'RS256'],
  ['an EC key for another curve', pem(ec('P-256')), 'ES384'],
])('%s cannot sign, and the message does not show it', (_name, key, algorithm) => {
  expect(() => withKey(key, algorithm)).toThrow(TypeError);
  expect(() => withKey(key, algorithm)).not.toThrow(/marker|BEGIN/);
});

describe('the assertion of a key', () => {
  const { certificate, key } = makeCertificates().client;

  async function partsOf(audience: string, url: string, withCertificate = false) {
    const authenticate = clientAuth({
      ...{ kind: 'private_key_jwt', key, keyId: null, algorithm: null },
      ...{ audience, certificate: withCertificate ? certificate : null },
    } as const)(url);
    const body = new URLSearchParams();
    await authenticate({ issuer: 'https://id.example' }, { client_id: 'gateway' }, body, new Headers());
    const assertion = body.get('client_assertion') ?? '';
    return { header: part(assertion, 0), audience: part(assertion, 1).aud };
  }

  test.each([
    ['issuer', TOKEN_ENDPOINT, 'https://id.example'],
    ['token_endpoint', TOKEN_ENDPOINT, TOKEN_ENDPOINT],
    ['token_endpoint', 'https://id.example/introspect', 'https://id.example/introspect'],
    ['urn:of:its:own', TOKEN_ENDPOINT, 'urn:of:its:own'],
  ])('with the audience %s, sent to %s, is for %s', async (audience, url, aud) => {
    expect(await partsOf(audience, url)).toEqual({ header: { alg: 'ES256' }, audience: aud });
  });

  test('names its certificate by both thumbprints', async () => {
    const { fingerprint, fingerprint256 } = new X509Certificate(certificate);
    const { header } = await partsOf('issuer', TOKEN_ENDPOINT, true);
    const hex = (thumbprint: string) =>
      Buffer.from(thumbprint, 'base64url')
        .toString('hex')
        .toUpperCase()
        .replace(/..(?=.)/g, '$&:');
    expect(Object.keys(header)).toEqual(['alg', 'x5t', 'x5t#S256']);
    expect([hex(header.x5t), hex(header['x5t#S256'])]).toEqual([fingerprint, fingerprint256]);
  });
});
