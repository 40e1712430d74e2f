import { describe, expect, test } from 'vitest';
import { expectInvalidToken } from '../support/error-object.ts';
import { type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer, validFor } from '../support/test-issuer.ts';
import type { RawClient, Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, settings)) };
}

const nowS = () => Math.floor(Date.now() / 1_000);
const get = (line: string, path = '/things') => head(`GET ${path}`, line);

/** Redeems a code for a token of this subject that comes with a not-before mark. */
async function signInWithMark(issuer: TestIssuer, gateway: TestGateway, mark: unknown, sub = 'alice') {
  issuer.provider.token = scripts.tokens({ access_token: issuer.token({ sub }), 'not-before-policy': mark });
  const response = await redeem(gateway, 'a-code', 'https://app.example/callback');
  expect(response.status).toBe(200);
  return json(response)['notBeforePolicy'];
}

/** A chunk every 20 ms, without end. */
const trickle: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  while (exchange.connection.open) {
    await exchange.send('4\r\ntick\r\n');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
};

/** Opens a response that goes on for ever, and returns when it has begun to. */
async function streaming(gateway: TestGateway, line: string, path?: string): Promise<RawClient> {
  const client = await gateway.connect();
  await client.send(get(line, path));
  await expect.poll(() => client.received.toString()).toContain('tick');
  return client;
}

/** That the response was broken off: it has no end that could be taken for one. */
async function expectCut(client: RawClient): Promise<void> {
  const response = await client.answer();
  expect(response).toMatchObject({ status: 200, complete: false });
}

/** That the response still flows. */
async function expectFlowing(client: RawClient): Promise<void> {
  const before = client.bytesRead;
  await expect.poll(() => client.bytesRead).toBeGreaterThan(before + 20);
  expect(client.end).toBeNull();
}

describe('a not-before mark that came with a redeemed code', () => {
  test('ends the older tokens of its subject, even known ones, and of no other subject', async () => {
    const { issuer, gateway, upstream } = await front();
    const mark = nowS() - 60;
    const known = issuer.bearer({ iat: mark - 1 });
    const bobs = issuer.bearer({ iat: mark - 1, sub: 'bob' });
    const client = await gateway.connect();
    for (const line of [known, bobs]) expect((await client.ask(get(line))).status).toBe(200);

    expect(await signInWithMark(issuer, gateway, mark)).toBe(mark);
    upstream.forget();
    for (const line of [known, known, issuer.bearer({ iat: mark - 1, jti: 'never seen' })]) {
      expectInvalidToken(await client.ask(get(line)));
    }
    expect(await gateway.counted('weir_tokens_refused_total')).toEqual(
      new Map([['{reason="not_before"}', 3]]),
    );
    expect(upstream.requests).toEqual([]);
    // Of the same second as the mark, as at the provider; newer; or another subject's.
    for (const line of [issuer.bearer({ iat: mark }), issuer.bearer(), bobs]) {
      expect((await client.ask(get(line))).status).toBe(200);
    }
  });

  test('leaves an optional route open without a caller', async () => {
    const { issuer, gateway, upstream } = await front({
      routes: [{ path: '/o', authentication: 'optional' }],
    });
    const line = issuer.bearer({ iat: nowS() - 60 });
    await signInWithMark(issuer, gateway, nowS() - 30);
    expect((await gateway.ask(get(line, '/o'))).status).toBe(200);
    expect(upstream.onlyRequest.head.toString()).not.toMatch(/alice|authorization/i);
  });

  test('is learnt also where the client did not wait for its tokens', async () => {
    const { issuer, gateway } = await front();
    const line = issuer.bearer({ iat: nowS() - 60 });
    expect((await gateway.ask(get(line))).status).toBe(200);
    let responseNow = (): void => expect.fail('the provider was not asked');
    const token = scripts.tokens({ access_token: issuer.token(), 'not-before-policy': nowS() - 30 });
    issuer.provider.token = (response, socket) => {
      responseNow = () => token(response, socket);
    };
    const client = await gateway.connect();
    await client.send(
      'POST /v1/anonymous/auth HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n{"code":"c","redirectUri":"r"}',
    );
    await expect.poll(() => issuer.provider.tokenRequests.length).toBe(1);
    client.reset();
    await expect.poll(async () => (await gateway.metric('weir_requests_in_flight')).get('')).toBe(0);
    responseNow();
    await expect.poll(async () => (await gateway.ask(get(line))).status).toBe(401);
    expect(issuer.provider.tokenRequests).toHaveLength(1);
  });

  test('counts for nothing in a response that brought no tokens', async () => {
    const { issuer, gateway } = await front();
    const line = issuer.bearer({ iat: nowS() - 60 });
    const members = { access_token: issuer.token(), token_type: 'Bearer', 'not-before-policy': nowS() };
    for (const [script, status] of [
      [scripts.json(400, { error: 'invalid_grant', ...members }), 400],
      [scripts.json(500, members), 503],
      [scripts.json(200, { ...members, token_type: 'DPoP' }), 503],
    ] as const) {
      issuer.provider.token = script;
      expect((await redeem(gateway, 'a-code', 'https://app.example/callback')).status).toBe(status);
    }
    expect((await gateway.ask(get(line))).status).toBe(200);
  });

  test('ends the requests in flight of its subject only', async () => {
    const { issuer, gateway, upstream } = await front({ upstream: trickle });
    const alices = await streaming(gateway, issuer.bearer({ iat: nowS() - 60 }));
    const newer = await streaming(gateway, issuer.bearer());
    const bobs = await streaming(gateway, issuer.bearer({ iat: nowS() - 60, sub: 'bob' }));
    await signInWithMark(issuer, gateway, nowS() - 30);
    await inTime(gateway.time, expectCut(alices));
    for (const client of [newer, bobs]) await expectFlowing(client);
    await expect.poll(() => upstream.openConnections.length).toBe(2);
    expect(gateway.logLines.filter(line => line.includes('"truncated"'))).toHaveLength(1);
  });

  test('refuses what its subject still waits for, and what it still sends', async () => {
    const { issuer, gateway, upstream } = await front({ upstream: async exchange => await exchange.gone });
    const line = issuer.bearer({ iat: nowS() - 60 });
    const [waiting, sending] = [await gateway.connect(), await gateway.connect()];
    await waiting.send(get(line));
    await sending.send(`${head('POST /things', 'Content-Length: 1000000', line)}some`);
    await expect.poll(() => upstream.requests.length).toBe(2);
    await signInWithMark(issuer, gateway, nowS() - 30);
    for (const client of [waiting, sending]) expectInvalidToken(await inTime(gateway.time, client.answer()));
    expect(await inTime(gateway.time, sending.ended())).toBe('close');
    await sending.send('more');
    await expect.poll(() => upstream.openConnections.length).toBe(0);
    expect(upstream.requests.map(request => request.bodyBytes).sort()).toEqual([0, 4]);
  });
});

test('the mark of the configuration ends the older tokens of everyone, bots too', async () => {
  const mark = nowS() - 60;
  const { issuer, gateway } = await front({ tokens: { not_before: mark } });
  for (const claims of [{}, { sub: 'bob' }, { client_id: 'app', sub: undefined }]) {
    expectInvalidToken(await gateway.ask(get(issuer.bearer({ ...claims, iat: mark - 1 }))));
    expect((await gateway.ask(get(issuer.bearer({ ...claims, iat: mark })))).status).toBe(200);
  }
});

describe('a response that outlives its token', () => {
  const routes = [
    { path: '/until-expiry', close_at_expiry: true },
    { path: '/optional-until-expiry', close_at_expiry: true, authentication: 'optional' },
  ];

  test('is cut off on a route with close_at_expiry, and continues elsewhere', async () => {
    const time = new FrozenClock(Date.now());
    const { issuer, gateway, upstream } = await front({
      routes,
      tokens: { leeway: '0s' },
      upstream: trickle,
      clock: time,
    });
    const line = issuer.bearer(validFor(60, time));
    const [one, other, plain, longer] = await Promise.all([
      streaming(gateway, line, '/until-expiry'),
      streaming(gateway, line, '/optional-until-expiry'),
      streaming(gateway, line),
      streaming(gateway, issuer.bearer(validFor(120, time)), '/until-expiry'),
    ]);
    time.advance(58_000);
    for (const client of [one, other]) await expectFlowing(client);
    time.advance(3_000);
    await expectCut(one);
    await expectCut(other);
    for (const client of [plain, longer]) await expectFlowing(client);
    await expect.poll(() => upstream.openConnections.length).toBe(2);
    expectInvalidToken(await gateway.ask(get(line)));
  });
});
