import { createHmac, createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { startIssuer, type TestIssuer, validFor } from '../support/test-issuer.ts';
import { base64Url, type IssuerKey, issuerKey, signToken } from '../support/token-issuer.ts';
import { header } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const RSA = issuerKey('RS256', 'rsa');
const PSS = issuerKey('PS256', 'pss');
const STRANGER = issuerKey('ES256', 'first');

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  issuer.publish(issuer.key, RSA, PSS);
  return { issuer, ...(await startGatewayOf(issuer, settings)) };
}

const nowS = () => Math.floor(Date.now() / 1_000);
const get = (...lines: string[]) => head('GET /v1/things', ...lines);
const bearer = (token: string) => `Authorization: Bearer ${token}`;

/** A token that this key signs with the good claims, and these header members. */
const signedBy = (issuer: TestIssuer, key: IssuerKey, header: Readonly<Record<string, unknown>> = {}) =>
  secret(signToken(key, issuer.claims(), header));

/** The good claims under any header, with a signature that the header's algorithm does not matter to. */
const unsigned = (issuer: TestIssuer, header: unknown, signature = '') =>
  `${base64Url(JSON.stringify(header))}.${base64Url(JSON.stringify(issuer.claims()))}.${signature}`;

function hmac(issuer: TestIssuer, key: string | Buffer): string {
  const input = unsigned(issuer, { alg: 'HS256', typ: 'JWT', kid: 'rsa' }).slice(0, -1);
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
}

const publicPem = () => createPublicKey(RSA.privateKey).export({ format: 'pem', type: 'spki' }).toString();

type Row = readonly [name: string, reason: string, token: (issuer: TestIssuer) => string];

const forgeries: readonly Row[] = [
  ['alg none', 'algorithm', issuer => unsigned(issuer, { alg: 'none' })],
  ['HS256 with the public key', 'algorithm', issuer => hmac(issuer, publicPem())],
  [
    'an EC signature under the name of an RSA key',
    'algorithm',
    issuer => signedBy(issuer, issuer.key, { kid: 'rsa' }),
  ],
  ['a stranger’s key under the issuer’s name for its own', 'signature', issuer => signedBy(issuer, STRANGER)],
  [
    'another payload under a good signature',
    'signature',
    issuer => {
      const [protectedHeader, , signature] = issuer.token().split('.');
      return `${protectedHeader}.${base64Url(JSON.stringify(issuer.claims({ sub: 'admin' })))}.${signature}`;
    },
  ],
  [
    '__proto__ for the name of a key',
    'unknown_key',
    issuer => signedBy(issuer, STRANGER, { kid: '__proto__' }),
  ],
  ['an extension that must be understood', 'critical', issuer => issuer.token({}, { crit: ['exp'] })],
];

const shapes: readonly Row[] = [
  ['a word behind it', 'malformed', issuer => `${issuer.token()} x`],
  ['bytes above 0x7f', 'malformed', issuer => issuer.token().replace('.', '\xff.')],
];

const claims: readonly Row[] = [
  ['another issuer', 'issuer', issuer => issuer.token({ iss: 'https://id.example' })],
  ['another audience', 'audience', issuer => issuer.token({ aud: 'other' })],
  ['no exp', 'claim', issuer => issuer.token({ exp: undefined })],
  ['an exp that passed more than the leeway ago', 'expired', issuer => issuer.token({ exp: nowS() - 31 })],
  ['an nbf to come', 'not_yet_valid', issuer => issuer.token({ nbf: nowS() + 60 })],
  ['the type of an ID token', 'token_kind', issuer => issuer.token({ typ: 'ID' })],
];

test.each([
  ['forged', forgeries],
  ['misshapen', shapes],
  ['not meant for this, or not now', claims],
])('a token that is %s is a 401, and the next good one on its connection is not', async (_, rows) => {
  const { issuer, gateway, upstream } = await front({
    tokens: { key_set: { cooldown: '1ms' } },
    config: { caps: { head: '64KiB' } },
  });
  const client = await gateway.connect();
  const statuses: (readonly [string, number, number])[] = [];
  for (const [name, , token] of rows) {
    // The keys may be fetched again for each: none of them is put off.
    gateway.time.advance(2);
    const refused = await client.ask(get(bearer(token(issuer))));
    const admitted = await client.ask(get(issuer.bearer()));
    statuses.push([name, refused.status, admitted.status]);
    if (refused.status === 401) expectInvalidToken(refused);
  }
  expect(statuses).toEqual(rows.map(([name]) => [name, 401, 200]));
  const lines = () => accessLines(gateway).filter(({ status }) => status === 401);
  await expect.poll(() => lines().length).toBe(rows.length);
  const told = lines().map(({ tokenRefused }, i) => [rows[i]?.[0], tokenRefused]);
  expect(told).toEqual(rows.map(([name, reason]) => [name, reason]));
  expect(lines().every(line => line['class'] === 'address')).toBe(true);
  const counted = new Map<string, number>();
  for (const [, reason] of rows)
    counted.set(`{reason="${reason}"}`, (counted.get(`{reason="${reason}"}`) ?? 0) + 1);
  expect(await gateway.counted('weir_tokens_refused_total')).toEqual(counted);
  expect(upstream.requests).toHaveLength(rows.length);
});

describe('a good token', () => {
  test('is refused from its expiry on, on a connection that has used it before', async () => {
    const time = new FrozenClock(Date.now());
    const { issuer, gateway } = await front({ clock: time, tokens: { leeway: '0s' } });
    const client = await gateway.connect();
    const line = issuer.bearer(validFor(2, time));
    expect((await client.ask(get(line))).status).toBe(200);
    time.advance(2_000);
    expectInvalidToken(await client.ask(get(line)));
    expect([...(await gateway.counted('weir_tokens_refused_total')).keys()]).toEqual(['{reason="expired"}']);
  });
});

test('an ID token without marks is refused where any audience, or the gateway’s own, is accepted', async () => {
  for (const audience of ['any', 'gateway']) {
    const { issuer, gateway } = await front({ tokens: { audience } });
    const unmarked = issuer.bearer({ typ: undefined, aud: 'gateway' });
    expectInvalidToken(await gateway.ask(get(unmarked)));
    expect((await gateway.ask(get(issuer.bearer({ aud: 'gateway' })))).status).toBe(200);
  }
});

test('no place that a token names is asked for its key', async () => {
  const trap = await startScriptedProvider();
  try {
    const { issuer, gateway } = await front({ tokens: { key_set: { cooldown: '1ms' } } });
    const place = `${trap.issuer}/keys`;
    for (const kid of ['first', place]) {
      const token = signedBy(issuer, STRANGER, { kid, jku: place, x5u: place, iss: trap.issuer });
      gateway.time.advance(2);
      expectInvalidToken(await gateway.ask(get(bearer(token))));
    }
    expectInvalidToken(
      await gateway.ask(get(bearer(secret(signToken(STRANGER, issuer.claims({ iss: trap.issuer })))))),
    );
    expect([trap.keyFetches, trap.discoveries]).toEqual([0, 0]);
  } finally {
    await trap.close();
  }
});

describe('the Authorization field', () => {
  test('is a 401 where it holds no token by a scheme that is configured', async () => {
    const { issuer, gateway, upstream } = await front();
    const client = await gateway.connect();
    const values = [
      '',
      'Basic Zm9vOmJhcg==',
      'Bearer',
      // The scheme of some client libraries, which is not configured.
      'Bot TOKEN',
      'Bearer\tTOKEN',
      'Bearer Bearer TOKEN',
    ];
    for (const value of values) {
      const line = `Authorization: ${value.replace('TOKEN', issuer.token())}`;
      const response = await client.ask(Buffer.from(get(line), 'utf8'));
      expect(response.status, value).toBe(401);
      // RFC 6750, 3.1: no error is told to a client that sent no token by a scheme that is understood.
      if (value.startsWith('Bearer ')) expectInvalidToken(response);
      else expectUnauthenticated(response);
      expect((await client.ask(get(issuer.bearer()))).status, value).toBe(200);
    }
    const counted = [...(await gateway.counted('weir_tokens_refused_total')).values()];
    expect(counted.reduce((sum, count) => sum + count)).toBe(values.length);
    expect(upstream.requests).toHaveLength(values.length);
  });

  test('carries a token by a scheme in any case and between blanks, and the upstream gets it in the standard form', async () => {
    const { issuer, gateway, upstream } = await front({ tokens: { schemes: ['Bearer', 'Bot'] } });
    for (const value of [
      ...['bearer TOKEN', 'BEARER TOKEN', 'bEaReR TOKEN', 'Bearer   TOKEN', ' \t Bearer TOKEN \t '],
      ...['Bot TOKEN', 'bOT TOKEN'],
    ]) {
      const token = issuer.token();
      const line = `Authorization:${value.replace('TOKEN', token)}`;
      expect((await gateway.ask(get(line))).status, value).toBe(200);
      expect(header(upstream.requests.at(-1) ?? { fields: [] }, 'authorization')).toBe(`Bearer ${token}`);
    }
  });

  test('is the only place for a token', async () => {
    const { issuer, gateway, upstream } = await front();
    const token = issuer.token();
    const form = `access_token=${token}`;
    for (const bytes of [
      head(`GET /v1/things?access_token=${token}`),
      get(`Cookie: access_token=${token}; Authorization=Bearer ${token}`),
      withBody('POST /v1/things', form, 'Content-Type: application/x-www-form-urlencoded'),
      ...[
        ...['X-Authorization', 'Proxy-Authorization', 'Authorization_'],
        ...['X-Access-Token', 'X-Forwarded-Access-Token'],
      ].map(name => get(`${name}: Bearer ${token}`)),
    ]) {
      expectUnauthenticated(await gateway.ask(bytes));
    }
    const inTrailer = inChunks('POST /v1/things', ['x']).replace(/\r\n\r\n$/, `\r\n${bearer(token)}\r\n\r\n`);
    const client = await gateway.connect();
    expectUnauthenticated(await client.ask(inTrailer));
    expect(upstream.requests).toEqual([]);
  });
});

describe('a request without a valid token', () => {
  test('is not asked for its body', async () => {
    const { issuer, gateway, upstream } = await front();
    for (const lines of [[], [bearer('none')], [issuer.bearer({ exp: 1 })]]) {
      const client = await gateway.connect();
      const response = await client.ask(
        head('POST /v1/things', 'Content-Length: 5', 'Expect: 100-continue', ...lines),
      );
      expect(response.status).toBe(401);
      expect(response.interim).toEqual([]);
      expect(await client.ended()).toBe('close');
    }
    expect(upstream.requests).toEqual([]);
    const client = await gateway.connect();
    await client.send(head('POST /v1/things', 'Content-Length: 5', 'Expect: 100-continue', issuer.bearer()));
    await expect.poll(() => client.received.toString()).toMatch(/^HTTP\/1\.1 100 /);
    expect((await client.ask('hello')).status).toBe(200);
  });

  test('leaves the connection in step, whatever its body', async () => {
    const { issuer, gateway, upstream } = await front();
    const client = await gateway.connect();
    for (const bytes of [get(), withBody('POST /v1/things', get('X-Inner: 1')), withBody('DELETE /a', 'x')]) {
      expectUnauthenticated(await client.ask(bytes));
      expect((await client.ask(get(issuer.bearer()))).status).toBe(200);
    }
    expect(upstream.requests.map(({ target }) => target)).toEqual(Array(3).fill('/v1/things'));
  });
});
