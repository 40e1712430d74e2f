import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../support/config-text.ts';
import { expectError } from '../support/error-object.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { ask as askHttp2, connectHttp2, H2C } from '../support/http2-client.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { type ClientKey, clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { agreement, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { header, names, type Response, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const [ADA, BOB] = [clientKey(), clientKey('EdDSA')];
const ALGS = 'algs="ES256 ES384 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512"';

/** A gateway of an issuer that binds tokens, whose clients ask `gateway.test`. */
async function bindingGateway(
  dpop: unknown = 'accepted',
  { tokens, ...settings }: Omit<IdentitySettings, 'issuer'> = {},
) {
  const issuer = await startIssuer();
  const { gateway, upstream } = await startGatewayOf(issuer, {
    tokens: { dpop, leeway: '2m', ...tokens },
    ...settings,
  });
  /** A token that is bound to the key, and what makes the lines with a proof for a request. */
  const tokenOf = (key: ClientKey | null, claims: ConfigPart = {}) => {
    const token = issuer.token(key === null ? claims : { cnf: key.cnf, ...claims });
    const proof = (target = '/', more: ConfigPart = {}, by = key ?? ADA) =>
      secret(proofOf(by, { htu: `http://gateway.test${target}`, ath: hashOfToken(token), ...more }));
    const lines = (target = '/', more: ConfigPart = {}, by = key ?? ADA) => [
      `Authorization: DPoP ${token}`,
      `DPoP: ${proof(target, more, by)}`,
    ];
    return { token, proof, lines };
  };
  return { issuer, gateway, upstream, tokenOf };
}

function challengesOf(response: Response): string[] {
  expectError(response, 401, 16);
  expect(names(response.fields).filter(name => /ratelimit|retry-after/i.test(name))).toEqual([]);
  return values(response.fields, 'www-authenticate');
}

describe('a token that is bound to a key', () => {
  it('is valid with a proof of it, and the service gets a bearer token and no proof', async () => {
    const { gateway, upstream, tokenOf } = await bindingGateway();
    const { token, lines } = tokenOf(ADA);
    const response = await gateway.ask(head('GET /orders?page=2', ...lines('/orders')));
    expect(response.status).toBe(200);
    expect(names(response.fields)).not.toContain('dpop-nonce');
    const { fields } = upstream.onlyRequest;
    expect(values(fields, 'authorization')).toEqual([`Bearer ${token}`]);
    expect(values(fields, 'x-auth-subject')).toEqual(['alice']);
    expect(names(fields).filter(name => /dpop/i.test(name))).toEqual([]);
    expect((await gateway.counted('weir_proofs_total')).get('')).toBe(1);
  });

  it('is valid with a payload that names its scheme, as Keycloak writes it', async () => {
    const { gateway, tokenOf } = await bindingGateway();
    const { lines } = tokenOf(ADA, { typ: 'DPoP' });
    expect((await gateway.ask(head('GET /', ...lines()))).status).toBe(200);
    const unbound = tokenOf(null, { typ: 'DPoP' });
    expect((await gateway.ask(head('GET /', `Authorization: Bearer ${unbound.token}`))).status).toBe(401);
  });

  it('has a proof for the path as its client wrote it where a route takes paths with odd slashes', async () => {
    const { gateway, tokenOf } = await bindingGateway('accepted', {
      routes: [
        { path: '/escaped/**', upstream: 'api', encoded_slashes: 'pass' },
        { path: '/merged/**', upstream: 'api', empty_segments: 'merge' },
        { path: '/passed/**', upstream: 'api', empty_segments: 'pass', encoded_slashes: 'pass' },
      ],
    });
    const { lines } = tokenOf(ADA);
    const statusOf = async (target: string, proven: string) =>
      (await gateway.ask(head(`GET ${target}`, ...lines(proven)))).status;
    for (const [target, ...same] of [
      ['/escaped/a%2fb', '/escaped/a%2Fb', '/escaped/%61%2Fb?c=d'],
      ['/merged//a', '/merged//%61'],
      ['/passed/a//b%2Fc', '/passed/a//b%2fc'],
      ['/things', '/thing%73'],
    ] as const)
      for (const proven of [target, ...same])
        expect([proven, await statusOf(target, proven)]).toEqual([proven, 200]);
    for (const [target, proven] of [
      ['/escaped/a%2fb', '/escaped/a/b'],
      ['/escaped/a%2fb', '/escaped/a%252fb'],
      ['/merged//a', '/merged/a'],
      ['/merged/a', '/merged//a'],
      ['/passed/a//b', '/passed/a/b'],
      ['/passed/a/b', '/passed/a/../a/b'],
    ] as const)
      expect([proven, await statusOf(target, proven)]).toEqual([proven, 401]);
  });

  it('is refused under its own scheme where it ends before its response has begun', async () => {
    const clock = new FrozenClock(Date.now());
    const { gateway, upstream, tokenOf } = await bindingGateway('required', {
      routes: [{ path: '/brief', upstream: 'api', close_at_expiry: true }],
      tokens: { leeway: '5s' },
      upstream: async exchange => await exchange.gone,
      clock,
    });
    const waiting = gateway.ask(head('GET /brief', ...tokenOf(ADA, validFor(1, clock)).lines('/brief')));
    await expect.poll(() => upstream.requests.length).toBe(1);
    clock.advance(7_000);
    const response = await waiting;
    expect(challengesOf(response)).toEqual([`DPoP error="invalid_token", ${ALGS}`]);
    expect(response.body.toString()).toContain('Authorization: DPoP <token>');
  });

  it('is refused otherwise: the challenge says why, and log and metrics say it exactly', async () => {
    const { gateway, upstream, tokenOf } = await bindingGateway();
    const { token, proof, lines } = tokenOf(ADA);
    const dpop = `Authorization: DPoP ${token}`;
    const bearer = `Authorization: Bearer ${token}`;
    const bad = ['Bearer', `DPoP error="invalid_dpop_proof", ${ALGS}`];
    const wrong = ['Bearer', `DPoP error="invalid_token", ${ALGS}`];
    const cases: [string, string[], string[]][] = [
      ['proof_missing', [dpop], bad],
      ['proof_scheme', [bearer], wrong],
      ['proof_malformed', [...lines(), `DPoP: ${proof()}`], bad],
      ['proof_missing', [dpop, `D-PoP: ${proof()}`], bad],
      ['proof_target', lines('/other'), bad],
      ['proof_target', lines('/', { htu: 'https://gateway.test/' }), bad],
      ['proof_token', lines('/', { ath: hashOfToken('x') }), bad],
      ['proof_key', lines('/', {}, BOB), bad],
      ['proof_time', lines('/', { iat: 1 }), bad],
      ['expired', tokenOf(ADA, { exp: 1 }).lines(), wrong],
      ['confirmation', tokenOf(null, { cnf: { jkt: 7 } }).lines(), wrong],
      ['unbound', tokenOf(null).lines(), wrong],
    ];
    for (const [reason, fields, challenges] of cases)
      expect(challengesOf(await gateway.ask(head('GET /', ...fields))), reason).toEqual(challenges);
    await expect.poll(() => accessLines(gateway).length).toBe(cases.length);
    expect(accessLines(gateway).map(line => line['tokenRefused'])).toEqual(cases.map(([reason]) => reason));
    const refused = await gateway.counted('weir_tokens_refused_total');
    expect(refused.get('{reason="proof_target"}')).toBe(2);
    expect(upstream.requests).toEqual([]);
    // The log names whose token it is, since its owner will ask.
    expect(accessLines(gateway).filter(line => line['refusedCaller'] === undefined)).toEqual([]);
  });

  it.each([
    [3, 401],
    [1_000, 200],
  ])(
    'has to be younger than the proofs that gave way, as soon as caps.limit_keys is %d: %d',
    async (limit_keys, status) => {
      const { gateway, tokenOf } = await bindingGateway('accepted', { config: { caps: { limit_keys } } });
      const { lines } = tokenOf(ADA);
      const iat = Math.floor(Date.now() / 1_000) - 60;
      const send = async (more: ConfigPart) => (await gateway.ask(head('GET /', ...lines('/', more)))).status;
      for (let sent = 0; sent < 20; sent += 1) expect(await send({ iat: iat + sent })).toBe(200);
      expect(await send({ iat: iat - 30 })).toBe(status);
    },
  );

  it('is looked at with every request of a connection, and no proof is good twice', async () => {
    const { gateway, tokenOf } = await bindingGateway();
    const client = await gateway.connect();
    const [ada, bob] = [tokenOf(ADA), tokenOf(BOB)];
    const used = ada.lines();
    const status = async (...lines: string[]) => (await client.ask(head('GET /', ...lines))).status;
    expect(await status(...used)).toBe(200);
    expect(await status(...used)).toBe(401);
    expect(await status(...ada.lines())).toBe(200);
    expect(await status(...bob.lines())).toBe(200);
    expect(await status(`Authorization: DPoP ${bob.token}`, `DPoP: ${ada.proof()}`)).toBe(401);
    expect(await status(`Authorization: Bearer ${tokenOf(null).token}`)).toBe(200);
    // On another connection neither.
    expect((await gateway.ask(head('GET /', ...used))).status).toBe(401);
  });

  it('is valid over HTTP/2', async () => {
    const { gateway, tokenOf } = await bindingGateway('accepted', { config: { listen: H2C } });
    const session = connectHttp2(gateway);
    const { token, proof } = tokenOf(ADA);
    const htu = `http://127.0.0.1:${gateway.port}/`;
    const ask = async (fields: Readonly<Record<string, string>>) =>
      (await askHttp2(session, { ':path': '/', authorization: `DPoP ${token}`, ...fields })).status;
    const used = proof('/', { htu });
    expect(await ask({ dpop: used })).toBe(200);
    expect(await ask({ dpop: used })).toBe(401);
    expect(await ask({})).toBe(401);
  });

  it('opens a WebSocket with a proof for its handshake', async () => {
    const service = await startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'));
    const { gateway, tokenOf } = await bindingGateway('accepted', {
      routes: [{ path: '/rooms', websocket: true }],
      config: { upstreams: { api: { url: `http://127.0.0.1:${service.port}` } } },
    });
    const { token, lines } = tokenOf(ADA);
    const refused = await gateway.connect();
    await refused.send(handshake('/rooms', `Authorization: DPoP ${token}`));
    expect((await refused.answer()).status).toBe(401);
    const client = await gateway.connect();
    await client.send(handshake('/rooms', ...lines('/rooms')));
    await expect.poll(() => client.received.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
  });

  it('counts against the address without a proof, also where no route serves the request', async () => {
    const { gateway, tokenOf } = await bindingGateway('accepted', {
      limits: { global: { address: '100/1m', user: '2/1m' } },
    });
    const { token, lines } = tokenOf(ADA);
    expect((await gateway.ask(head('GET /', ...lines()))).status).toBe(200);
    for (let n = 0; n < 3; n++)
      expect((await gateway.ask(head('GET /', `Authorization: DPoP ${token}`))).status).toBe(401);
    for (let n = 0; n < 3; n++) await gateway.ask(head('FOO /', `Authorization: DPoP ${token}`));
    expect((await gateway.ask(head('GET /', ...lines()))).status).toBe(200);
    expect((await gateway.ask(head('GET /', ...lines()))).status).toBe(429);
  });

  it('whose proofs are bad draws on the budget of its address, like forged tokens', async () => {
    const { gateway, tokenOf } = await bindingGateway('accepted', {
      limits: { failed_verifications: '3/1m' },
    });
    const { lines } = tokenOf(ADA);
    const client = await gateway.connect();
    expect((await client.ask(head('GET /', ...lines()))).status).toBe(200);
    for (let n = 0; n < 3; n++) await gateway.ask(head('GET /', ...lines('/', { htm: 'PUT' })));
    const others = [];
    for (let n = 0; n < 12; n++) others.push((await gateway.ask(head('GET /', ...lines()))).status);
    expect(others.at(-1)).toBe(429);
    // Who has proved its key on a connection goes on there.
    expect((await client.ask(head('GET /', ...lines()))).status).toBe(200);
  });
});

describe('the URL that a proof is for', () => {
  it('is the one that the client knows: of the host that it asked, whatever trusted proxies tell', async () => {
    const trusting = await bindingGateway('accepted', { config: { trusted_proxies: ['127.0.0.1'] } });
    const status = async ({ gateway, tokenOf }: typeof trusting, htu: string, ...lines: string[]) =>
      (await gateway.ask(head('GET /', ...lines, ...tokenOf(ADA).lines('/', { htu })))).status;
    const told = ['X-Forwarded-Proto: https', 'X-Forwarded-Host: api.example.com'];
    expect(await status(trusting, 'https://api.example.com/', ...told)).toBe(200);
    expect(await status(trusting, 'http://gateway.test/', ...told)).toBe(401);
    expect(await status(trusting, 'https://gateway.test/', 'X-Forwarded-Proto: https')).toBe(200);
    const other = await bindingGateway();
    expect(await status(other, 'https://api.example.com/', ...told)).toBe(401);
    expect(await status(other, 'http://gateway.test/', ...told)).toBe(200);
  });
});

describe('dpop: required', () => {
  it('lets no other token in, and says so', async () => {
    const { gateway, upstream, tokenOf } = await bindingGateway('required');
    const challenge = (error: string) => [`DPoP ${error}${ALGS}`];
    const bearer = `Authorization: Bearer ${tokenOf(null).token}`;
    expect(challengesOf(await gateway.ask(head('GET /', bearer)))).toEqual(
      challenge('error="invalid_token", '),
    );
    expect(challengesOf(await gateway.ask(head('GET /')))).toEqual(challenge(''));
    expect(upstream.requests).toEqual([]);
    expect((await gateway.ask(head('GET /', ...tokenOf(ADA).lines()))).status).toBe(200);
  });
});

describe('dpop: off', () => {
  it('looks at no proof: a bound token is refused, and the field is like any other', async () => {
    const { gateway, upstream, tokenOf } = await bindingGateway('off');
    const { token, lines } = tokenOf(ADA);
    expect(challengesOf(await gateway.ask(head('GET /', ...lines())))).toEqual(['Bearer']);
    const bearer = await gateway.ask(head('GET /', `Authorization: Bearer ${token}`));
    expect(challengesOf(bearer)).toEqual(['Bearer error="invalid_token"']);
    const other = `Authorization: Bearer ${tokenOf(null).token}`;
    expect((await gateway.ask(head('GET /', other, 'DPoP: x', 'DPoP: y'))).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'dpop')).toEqual(['x', 'y']);
    const reasons = [...(await gateway.counted('weir_tokens_refused_total')).keys()];
    expect(reasons.filter(reason => reason.includes('proof'))).toEqual([]);
  });
});

it('a route without authentication passes token and proof on as they came: its service checks them', async () => {
  const { gateway, upstream, tokenOf } = await bindingGateway('accepted', {
    routes: [
      { path: '/open', authentication: 'none' },
      { path: '/maybe', authentication: 'optional' },
    ],
  });
  const { token, proof } = tokenOf(ADA);
  const sent = proof('/open');
  const dpop = `Authorization: DPoP ${token}`;
  expect((await gateway.ask(head('GET /open', dpop, `DPoP: ${sent}`))).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'dpop')).toEqual([sent]);
  expect(values(upstream.onlyRequest.fields, 'authorization')).toEqual([`DPoP ${token}`]);
  await gateway.ask(head('GET /open', dpop, `DPoP: ${sent}`, 'Connection: dpop'));
  expect(names(upstream.requests.at(-1)?.fields ?? [])).not.toContain('dpop');
  // Where a token is optional, one that is not proved is none.
  expect((await gateway.ask(head('GET /maybe', dpop))).status).toBe(200);
  const { fields = [] } = upstream.requests.at(-1) ?? {};
  expect(names(fields).filter(name => /^(?:authorization|dpop|x-auth.*)$/i.test(name))).toEqual([]);
});

it('a token without a scope that its route requires is told so under its scheme', async () => {
  const { gateway, tokenOf } = await bindingGateway('accepted', {
    routes: [{ path: '/admin', require: { scopes: ['admin'] } }],
  });
  const response = await gateway.ask(head('GET /admin', ...tokenOf(ADA).lines('/admin')));
  expect(response.status).toBe(403);
  expect(header(response, 'www-authenticate')).toBe('DPoP error="insufficient_scope", scope="admin"');
});

it('pages may send proofs, and read challenges and nonces', async () => {
  const origin = 'https://app.example';
  const config = { cors: { origins: [origin], allow_headers: ['Authorization'] } };
  const { gateway } = await bindingGateway({ mode: 'accepted', nonce: '5m' }, { config });
  const preflight = await gateway.ask(
    head('OPTIONS /', `Origin: ${origin}`, 'Access-Control-Request-Method: GET'),
  );
  expect(header(preflight, 'access-control-allow-headers')).toBe('Authorization, DPoP');
  const exposed = header(
    await gateway.ask(head('GET /', `Origin: ${origin}`)),
    'access-control-expose-headers',
  );
  expect(exposed?.split(', ')).toEqual(expect.arrayContaining(['WWW-Authenticate', 'DPoP-Nonce']));
  const without = await bindingGateway('off', { config });
  const other = await without.gateway.ask(head('GET /', `Origin: ${origin}`));
  expect(header(other, 'access-control-expose-headers')).not.toContain('DPoP');
});

it('the document of a protected resource says that tokens may, or must, be bound to keys', async () => {
  const document = async (dpop: string) => {
    const { gateway } = await bindingGateway(dpop, {
      config: { protected_resource: { resource: 'https://api.example.com' } },
    });
    const challenges = challengesOf(await gateway.ask(head('GET /')));
    expect(challenges.every(each => each.includes('resource_metadata="https://api'))).toBe(true);
    return JSON.parse((await gateway.ask(head('GET /.well-known/oauth-protected-resource'))).body.toString());
  };
  expect(await document('off')).not.toHaveProperty('dpop_signing_alg_values_supported');
  const accepted = await document('accepted');
  expect(accepted.dpop_signing_alg_values_supported).toContain('ES256');
  expect(accepted).not.toHaveProperty('dpop_bound_access_tokens_required');
  expect(await document('required')).toMatchObject({ dpop_bound_access_tokens_required: true });
});

it('weir explain and the admin API say what tokens need', async () => {
  const rowOf = async (dpop: unknown) => {
    const { gateway } = await bindingGateway(dpop);
    const { text } = await gateway.admin('/api/explain?method=GET&path=%2F');
    const { facts } = JSON.parse(text) as { facts: { about: string; text: string }[] };
    return facts.filter(({ about }) => about === 'proofs').map(each => each.text);
  };
  expect(await rowOf('off')).toEqual([]);
  expect(await rowOf('accepted')).toEqual([
    'a token that is bound to a key needs one (DPoP), made at most 2m ago',
  ]);
  expect(await rowOf({ mode: 'required', nonce: '5m' })).toEqual([
    'every token needs one (DPoP), made at most 2m ago, with a nonce of the gateway that is valid for 5m',
  ]);
});

describe('access_tokens.dpop', () => {
  const text = (tokens: string) => `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api, ${tokens} }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
`;

  it.each([
    ...['dpop: off', 'dpop: accepted', 'dpop: required'],
    ...['dpop: { mode: required, nonce: 5m }', 'dpop: off, leeway: 0s'],
  ])('may be written as %s', async tokens => expect(await diagnosticsIn(text(tokens))).toEqual([]));

  it.each([
    ['dpop: true', 'access_tokens.dpop: expected off, accepted, required, or a map such as'],
    ['dpop: { mode: off }', 'expected accepted or required'],
    ['dpop: { nonce: 5m }', 'missing key "mode"'],
    ['dpop: { mode: required, nonce: 1s }', 'expected a time from 10s to 1h'],
    ['dpop: required, leeway: 1s', 'access_tokens.leeway: is too short for "dpop"'],
    ['dpop: required, schemes: [Bearer, dpop]', 'access_tokens.schemes[1]: is accepted by "dpop" already'],
  ])('may not be written as %s', async (tokens, message) => {
    expect((await diagnosticsIn(text(tokens))).join('\n')).toContain(message);
  });
});
