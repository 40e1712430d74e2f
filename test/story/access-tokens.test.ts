import { createHmac, createPublicKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expectInvalidToken, expectRejected, expectUnauthenticated } from '../support/error-object.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { aMinuteAgo, startIssuer, type TestIssuer, validFor } from '../support/test-issuer.ts';
import { base64Url, type IssuerKey, issuerKey, signParts, signToken } from '../support/token-issuer.ts';
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

/** Header and payload of a good token as JSON text, to be spoilt by hand. */
function json(issuer: TestIssuer) {
  return { header: '{"alg":"ES256","typ":"JWT","kid":"first"}', payload: JSON.stringify(issuer.claims()) };
}

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

const publicPem = (type: 'spki' | 'pkcs1') =>
  createPublicKey(RSA.privateKey).export({ format: 'pem', type }).toString();

type Row = readonly [name: string, reason: string, token: (issuer: TestIssuer) => string];

const forgeries: readonly Row[] = [
  ...['none', 'None', 'NONE', 'nOnE'].map(
    (alg): Row => [`alg ${alg}`, 'algorithm', issuer => unsigned(issuer, { alg })],
  ),
  ['alg none with a signature', 'algorithm', issuer => unsigned(issuer, { alg: 'none' }, 'AAAA')],
  ['HS256 with the public key', 'algorithm', issuer => hmac(issuer, publicPem('spki'))],
  ['HS256 with the public key in PKCS 1', 'algorithm', issuer => hmac(issuer, publicPem('pkcs1'))],
  ['HS256 with the JWK', 'algorithm', issuer => hmac(issuer, JSON.stringify(RSA.jwk))],
  [
    'HS256 with the modulus',
    'algorithm',
    issuer => hmac(issuer, Buffer.from(String(RSA.jwk['n']), 'base64url')),
  ],
  ['HS256 with nothing', 'algorithm', issuer => hmac(issuer, '')],
  [
    'an EC signature under the name of an RSA key',
    'algorithm',
    issuer => signedBy(issuer, issuer.key, { kid: 'rsa' }),
  ],
  [
    'an RSA signature under the name of an EC key',
    'algorithm',
    issuer => signedBy(issuer, RSA, { kid: 'first' }),
  ],
  [
    'RS256 of a key that is for PS256',
    'algorithm',
    issuer => signedBy(issuer, { ...RSA, privateKey: PSS.privateKey, kid: 'pss' }),
  ],
  [
    'a PSS signature called RS256',
    'signature',
    issuer => signedBy(issuer, { ...PSS, privateKey: RSA.privateKey }, { alg: 'RS256', kid: 'rsa' }),
  ],
  ['a stranger’s key under the issuer’s name for its own', 'signature', issuer => signedBy(issuer, STRANGER)],
  ['a stranger’s key under no name', 'signature', issuer => signedBy(issuer, STRANGER, { kid: undefined })],
  [
    'a stranger’s key in its header',
    'signature',
    issuer => signedBy(issuer, STRANGER, { jwk: STRANGER.jwk }),
  ],
  [
    'a stranger’s certificate in its header',
    'signature',
    issuer => signedBy(issuer, STRANGER, { x5c: ['AAAA'] }),
  ],
  [
    'another payload under a good signature',
    'signature',
    issuer => {
      const [protectedHeader, , signature] = issuer.token().split('.');
      return `${protectedHeader}.${base64Url(JSON.stringify(issuer.claims({ sub: 'admin' })))}.${signature}`;
    },
  ],
  [
    'another header over a good signature',
    'signature',
    issuer => {
      const [, ...rest] = issuer.token().split('.');
      return [base64Url('{"alg":"ES256","kid":"first"}'), ...rest].join('.');
    },
  ],
  [
    'a signature of zeros',
    'signature',
    issuer => unsigned(issuer, { alg: 'ES256', kid: 'first' }, base64Url(Buffer.alloc(64))),
  ],
  ['a signature cut short', 'signature', issuer => issuer.token().slice(0, -2)],
  ['an empty signature', 'malformed', issuer => `${issuer.token().replace(/[^.]*$/, '')}`],
  [
    'a name of a key that is a path',
    'unknown_key',
    issuer => signedBy(issuer, STRANGER, { kid: '../../../../dev/null' }),
  ],
  [
    'a name of a key that is a query',
    'unknown_key',
    issuer => signedBy(issuer, STRANGER, { kid: "x' UNION SELECT 'k" }),
  ],
  [
    '__proto__ for the name of a key',
    'unknown_key',
    issuer => signedBy(issuer, STRANGER, { kid: '__proto__' }),
  ],
  ['10 kB for the name of a key', 'malformed', issuer => issuer.token({}, { kid: 'k'.repeat(10_000) })],
  ['a number for the name of a key', 'malformed', issuer => issuer.token({}, { kid: 7 })],
  ['null for the name of a key', 'malformed', issuer => issuer.token({}, { kid: null })],
  ['an extension that must be understood', 'critical', issuer => issuer.token({}, { crit: ['exp'] })],
  ['no extension that must be understood', 'critical', issuer => issuer.token({}, { crit: [] })],
  ['an unencoded payload', 'critical', issuer => issuer.token({}, { b64: false, crit: ['b64'] })],
];

const shapes: readonly Row[] = [
  ['one segment', 'malformed', () => 'token'],
  ['two segments', 'malformed', issuer => issuer.token().split('.').slice(0, 2).join('.')],
  ['four segments', 'malformed', issuer => `${issuer.token()}.AAAA`],
  ['five segments', 'malformed', issuer => `${issuer.token()}.AAAA.AAAA`],
  ['a dot behind it', 'malformed', issuer => `${issuer.token()}.`],
  ['a dot before it', 'malformed', issuer => `.${issuer.token()}`],
  ['dots alone', 'malformed', () => '..'],
  ['padding', 'malformed', issuer => `${issuer.token()}==`],
  ['padding in its header', 'malformed', issuer => issuer.token().replace('.', '=.')],
  [
    'the other alphabet',
    'malformed',
    issuer => {
      // Some signature out of many has one of the two letters that differ.
      for (;;) {
        const token = issuer.token();
        const other = token.replaceAll('-', '+').replaceAll('_', '/');
        if (other !== token) return other;
      }
    },
  ],
  [
    'bits too many in its last letter',
    'malformed',
    issuer => {
      // 64 bytes leave four bits of the last letter unused: A, Q, g or w.
      const token = issuer.token();
      return token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1);
    },
  ],
  ['quotes around it', 'malformed', issuer => `"${issuer.token()}"`],
  ['a word behind it', 'malformed', issuer => `${issuer.token()} x`],
  ['a second token behind a comma', 'malformed', issuer => `${issuer.token()}, Bearer ${issuer.token()}`],
  ['a tab within', 'malformed', issuer => issuer.token().replace('.', '\t.')],
  ['bytes above 0x7f', 'malformed', issuer => issuer.token().replace('.', '\xff.')],
  [
    'a header that is no JSON',
    'malformed',
    issuer => signParts(issuer.key, 'alg=ES256', json(issuer).payload),
  ],
  [
    'a header that is a list',
    'malformed',
    issuer => signParts(issuer.key, '["ES256"]', json(issuer).payload),
  ],
  [
    'a header without alg',
    'malformed',
    issuer => signParts(issuer.key, '{"kid":"first"}', json(issuer).payload),
  ],
  ['a payload that is no JSON', 'malformed', issuer => signParts(issuer.key, json(issuer).header, 'alice')],
  ['a payload that is null', 'malformed', issuer => signParts(issuer.key, json(issuer).header, 'null')],
  ['a payload that is a list', 'malformed', issuer => signParts(issuer.key, json(issuer).header, '[]')],
  [
    'a payload in UTF-16',
    'malformed',
    issuer => signParts(issuer.key, json(issuer).header, Buffer.from(json(issuer).payload, 'utf16le')),
  ],
  [
    'a payload in broken UTF-8',
    'malformed',
    issuer => signParts(issuer.key, json(issuer).header, Buffer.from('{"sub":"\xff"}', 'latin1')),
  ],
  [
    'a mark of UTF-8 before its payload',
    'malformed',
    issuer => signParts(issuer.key, json(issuer).header, `\ufeff${json(issuer).payload}`),
  ],
  [
    'a JWT within',
    'malformed',
    issuer => signParts(issuer.key, '{"alg":"ES256","kid":"first","cty":"JWT"}', issuer.token()),
  ],
];

const claims: readonly Row[] = [
  ['no issuer', 'claim', issuer => issuer.token({ iss: undefined })],
  ['another issuer', 'issuer', issuer => issuer.token({ iss: 'https://id.example' })],
  ['the issuer with a slash', 'issuer', issuer => issuer.token({ iss: `${issuer.url}/` })],
  ['the issuer in capitals', 'issuer', issuer => issuer.token({ iss: issuer.url.toUpperCase() })],
  ['a list of issuers', 'claim', issuer => issuer.token({ iss: [issuer.url] })],
  ['no audience', 'audience', issuer => issuer.token({ aud: undefined })],
  ['another audience', 'audience', issuer => issuer.token({ aud: 'other' })],
  ['other audiences', 'audience', issuer => issuer.token({ aud: ['other', 'API', 'api ', 'xapi'] })],
  ['no audience in its list', 'audience', issuer => issuer.token({ aud: [] })],
  ['an audience that is an object', 'claim', issuer => issuer.token({ aud: { api: true } })],
  ['a list of lists of audiences', 'claim', issuer => issuer.token({ aud: [['api']] })],
  ['null for an audience', 'claim', issuer => issuer.token({ aud: null })],
  ['no exp', 'claim', issuer => issuer.token({ exp: undefined })],
  ['text for exp', 'claim', issuer => issuer.token({ exp: String(nowS() + 300) })],
  ['null for exp', 'claim', issuer => issuer.token({ exp: null })],
  ['an exp that passed more than the leeway ago', 'expired', issuer => issuer.token({ exp: nowS() - 31 })],
  ['a negative exp', 'expired', issuer => issuer.token({ exp: -1 })],
  [
    'an endless exp',
    'claim',
    issuer =>
      signParts(issuer.key, json(issuer).header, json(issuer).payload.replace(/"exp":\d+/, '"exp":1e999')),
  ],
  ['no iat', 'claim', issuer => issuer.token({ iat: undefined })],
  ['text for iat', 'claim', issuer => issuer.token({ iat: 'now' })],
  ['an iat to come', 'not_yet_valid', issuer => issuer.token({ iat: nowS() + 60 })],
  ['an nbf to come', 'not_yet_valid', issuer => issuer.token({ nbf: nowS() + 60 })],
  ['text for nbf', 'claim', issuer => issuer.token({ nbf: '0' })],
  ['no subject', 'claim', issuer => issuer.token({ sub: undefined })],
  ['an empty subject', 'claim', issuer => issuer.token({ sub: '' })],
  ['a number for a subject', 'claim', issuer => issuer.token({ sub: 7 })],
  ['half a character in its subject', 'claim', issuer => issuer.token({ sub: 'a\ud800' })],
  ['no client', 'claim', issuer => issuer.token({ azp: undefined })],
  ['the type of an ID token', 'token_kind', issuer => issuer.token({ typ: 'ID' })],
  ['the type of a refresh token', 'token_kind', issuer => issuer.token({ typ: 'Refresh' })],
  ['the type of an offline token', 'token_kind', issuer => issuer.token({ typ: 'Offline' })],
  [
    'the type of a logout token',
    'token_kind',
    issuer => issuer.token({ typ: 'Logout' }, { typ: 'logout+jwt' }),
  ],
  [
    'the header of a logout token',
    'token_kind',
    issuer => issuer.token({ typ: undefined }, { typ: 'logout+jwt' }),
  ],
  ['the events of a logout token', 'token_kind', issuer => issuer.token({ events: {} })],
  ['the at_hash of an ID token', 'token_kind', issuer => issuer.token({ typ: undefined, at_hash: 'x' })],
  [
    'the header of a DPoP proof',
    'token_kind',
    issuer => issuer.token({ typ: undefined }, { typ: 'dpop+jwt' }),
  ],
  ['bearer in small letters for its type', 'token_kind', issuer => issuer.token({ typ: 'bearer' })],
  ['a list for its type', 'token_kind', issuer => issuer.token({ typ: ['Bearer'] })],
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
  test('may be signed with any of six algorithms', async () => {
    const issuer = await startIssuer();
    const others = (['ES384', 'ES512', 'EdDSA'] as const).map(alg => issuerKey(alg, alg));
    const keys = [issuer.key, RSA, PSS, ...others];
    issuer.publish(...keys);
    const { gateway } = await startGatewayOf(issuer);
    for (const key of keys.toReversed())
      expect((await gateway.ask(get(bearer(signedBy(issuer, key))))).status, key.alg).toBe(200);
  });

  test('may say more than it has to, or less than usual', async () => {
    const now = nowS();
    const good: readonly (readonly [string, object, object])[] = [
      ['has its audience among others', { aud: ['account', 'api'] }, {}],
      ['has the header type of RFC 9068 alone', { typ: undefined }, { typ: 'at+jwt' }],
      ['has that type as a media type', { typ: undefined }, { typ: 'application/AT+JWT' }],
      ['has no type at all, its audience being no client', { typ: undefined }, { typ: undefined }],
      ['names no key', {}, { kid: undefined }],
      ['has passed its exp within the leeway', { exp: now - 15 }, {}],
      ['is to begin within the leeway', { iat: now + 15, nbf: now + 15 }, {}],
      ['counts fractions of seconds', { iat: now - 0.5, exp: now + 60.25 }, {}],
      ['lives for ever', { exp: 9e15 }, {}],
      [
        'names a place for its key, which is not asked',
        {},
        { jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' },
      ],
      ['has members that nobody knows', { x: { y: [null] } }, { x: 1 }],
      ['has a member __proto__', { ['__proto__']: { sub: 'admin' } }, {}],
    ];
    const { issuer, gateway } = await front();
    for (const [name, claims, header] of good)
      expect((await gateway.ask(get(issuer.bearer({ ...claims }, { ...header })))).status, name).toBe(200);
  });

  test('is checked once, and known from then on', async () => {
    const { issuer, gateway } = await front();
    const line = issuer.bearer();
    // Each worker remembers tokens of its own, and a connection stays at its worker.
    const client = await gateway.connect();
    for (let i = 0; i < 3; i += 1) expect((await client.ask(get(line))).status).toBe(200);
    expect(await gateway.counted('weir_tokens_total')).toEqual(
      new Map([
        ['{outcome="verified"}', 1],
        ['{outcome="known"}', 2],
      ]),
    );
  });

  test('with an extra space in its payload is a different token, not the known one', async () => {
    const { issuer, gateway } = await front();
    const token = issuer.token(aMinuteAgo());
    expect((await gateway.ask(get(bearer(token)))).status).toBe(200);
    const [protectedHeader, payload = '', signature] = token.split('.');
    const other = base64Url(`${Buffer.from(payload, 'base64url').toString()} `);
    expectInvalidToken(await gateway.ask(get(bearer([protectedHeader, other, signature].join('.')))));
  });

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

test('any audience is accepted only where the configuration says so', async () => {
  const { issuer, gateway } = await front({ tokens: { audience: 'any' } });
  for (const aud of [undefined, 'other', []])
    expect((await gateway.ask(get(issuer.bearer({ aud })))).status).toBe(200);
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
      'TOKEN',
      'BearerTOKEN',
      'Bearer\tTOKEN',
      'Bearer: TOKEN',
      'Bearer, TOKEN',
      'Bearer token=TOKEN',
      'Bearer Bearer TOKEN',
      'Basic x, Bearer TOKEN',
      'DPoP TOKEN',
      'Bеarer TOKEN',
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

  test('is a 400 when it comes twice', async () => {
    const { issuer, gateway, upstream } = await front({
      routes: [{ path: '/open', authentication: 'none' }],
    });
    const good = issuer.bearer();
    for (const lines of [
      [good, good],
      [good, 'authorization: Basic eA=='],
      ['AUTHORIZATION: Bearer x', good],
      ['Authorization:', good],
    ]) {
      for (const path of ['/v1/things', '/open']) {
        const client = await gateway.connect();
        await client.send(head(`GET ${path}`, ...lines));
        await expectRejected(client);
      }
    }
    expect(upstream.requests).toEqual([]);
  });

  test('is not searched for after two thousand other fields: the request is refused', async () => {
    const { issuer, gateway, upstream } = await front({ config: { caps: { head: '1MiB' } } });
    const junk = Array.from({ length: 2_100 }, (_, i) => `X-${i}: y`);
    const client = await gateway.connect();
    await client.send(get(...junk, issuer.bearer()));
    await expectRejected(client, 431, 3);
    expect(upstream.requests).toEqual([]);
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
        'X-Authorization',
        'Proxy-Authorization',
        'Authorization_',
        'X-Access-Token',
        'X-Forwarded-Access-Token',
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

  test('learns of HEAD what it would learn of GET', async () => {
    const { gateway } = await front();
    const toHead = await gateway.ask(head('HEAD /v1/things'));
    expect(toHead).toMatchObject({ status: 401, bodyBytes: 0, complete: true });
    expect(header(toHead, 'www-authenticate')).toBe('Bearer');
  });
});
