import { describe, expect, it, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { withoutWorkers } from '../support/gateway.ts';
import {
  accessLines,
  type IdentitySettings,
  startGatewayOf,
  startIdentityGateway,
} from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { aMinuteAgo, startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { issuerKey, signToken } from '../support/token-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { header, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const get = (path: string, bearer: string) => head(`GET ${path}`, bearer);
const INACTIVE = scripts.json(200, { active: false });

/** A gateway that asks this provider about tokens on `/asked/**`, and nowhere else. */
async function front(settings: Omit<IdentitySettings, 'issuer'> & { readonly cache?: string } = {}) {
  const { cache = '1m', ...more } = settings;
  const issuer = await startIssuer();
  const routes = [
    { path: '/asked/**', introspection: { cache } },
    { path: '/perhaps/**', introspection: { cache }, authentication: 'optional' },
  ];
  const started = await startGatewayOf(issuer, { routes, ...more });
  return { issuer, questions: issuer.provider.introspections, ...started };
}

describe('a route with introspection', () => {
  it('asks the provider as its client, and serves the caller of an active token', async () => {
    const { gateway, issuer, questions } = await front();
    const token = issuer.token();
    expect((await gateway.ask(get('/asked/1', `Authorization: Bearer ${token}`))).status).toBe(200);
    expect(questions).toHaveLength(1);
    expect(questions[0]?.method).toBe('POST');
    expect(questions[0]?.headers.authorization).toMatch(/^Basic /);
    expect(Object.fromEntries(new URLSearchParams(questions[0]?.body))).toEqual({
      token,
      token_type_hint: 'access_token',
    });
    await gateway.ask(get('/elsewhere', issuer.bearer({ sub: 'bob' })));
    expect(questions).toHaveLength(1);
  });

  it('refuses a token that the provider calls inactive like any other invalid token', async () => {
    const { gateway, upstream, issuer } = await front({ limits: { global: { address: '1/1h' } } });
    issuer.provider.introspection = INACTIVE;
    const bearer = issuer.bearer();
    expectInvalidToken(await gateway.ask(get('/asked/1', bearer)));
    // It was drawn from the address, not from the caller.
    expect((await gateway.ask(get('/asked/1', bearer))).status).toBe(429);
    expect((await gateway.ask(get('/elsewhere', bearer))).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
    await expect.poll(() => accessLines(gateway).length).toBe(3);
    expect(accessLines(gateway)[0]).toMatchObject({ status: 401, tokenRefused: 'inactive' });
    expect((await gateway.metric('weir_tokens_refused_total')).get('{reason="inactive"}')).toBe(2);
  });

  it('never sends the provider a token that was not verified', async () => {
    const { gateway, issuer, questions } = await front();
    const forged = secret(signToken({ ...issuerKey('ES256', 'first') }, issuer.claims(aMinuteAgo())));
    for (const token of [forged, issuer.token({ exp: 1 }), issuer.token({ aud: 'other' }), 'nonsense'])
      expectInvalidToken(await gateway.ask(get('/asked/1', `Authorization: Bearer ${token}`)));
    expect(questions).toHaveLength(0);
  });
});

describe('weir explain', () => {
  it('says that the provider is asked, and how often', async () => {
    const { gateway } = await front();
    const out: string[] = [];
    const terminal = { env: process.env, out: (line: string) => void out.push(line), err: () => {} };
    await runCommandLine(['explain', 'GET', '/asked/1', gateway.configFile], terminal);
    expect(out.join('')).toMatch(
      /introspection +the provider is asked .* at most every 1m; 503 while it cannot answer/,
    );
  });
});

describe('the answer of the provider', () => {
  it('holds for as long as the route says, however many ask', async () => {
    withoutWorkers();
    const clock = new FrozenClock(Date.now());
    const { gateway, issuer, questions } = await front({ cache: '1m', clock });
    const bearer = issuer.bearer();
    const hold: (() => void)[] = [];
    const answer = issuer.provider.introspection;
    issuer.provider.introspection = (response, socket) => void hold.push(() => answer(response, socket));
    const many = Array.from({ length: 5 }, () => gateway.ask(get('/asked/1', bearer)));
    await waitFor('the question arrives', () => hold.length === 1);
    for (const goOn of hold) goOn();
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await gateway.ask(get('/asked/1', bearer))).status).toBe(200);
    expect(questions).toHaveLength(1);
    issuer.provider.introspection = INACTIVE;
    clock.advance(59_000);
    expect((await gateway.ask(get('/asked/1', bearer))).status).toBe(200);
    clock.advance(1_001);
    expectInvalidToken(await gateway.ask(get('/asked/1', bearer)));
    expect(questions).toHaveLength(2);
    const asked = await gateway.metric('weir_introspections_total');
    expect([asked.get('{outcome="active"}'), asked.get('{outcome="inactive"}')]).toEqual([1, 1]);
  });
});

describe('a provider that cannot say', () => {
  const { hang } = scripts;
  const undecided: readonly (readonly [string, TestIssuer['provider']['introspection']])[] = [
    ['fails', scripts.json(500, {})],
    ['does not answer', hang],
    ['answers a page', scripts.json(200, { active: true }, { 'content-type': 'text/html' })],
    ['does not say whether it is active', scripts.json(200, { active: 'true' })],
  ];

  it.each(undecided)('leaves the token undecided: it %s', async (what, script) => {
    const { gateway, issuer } = await front({ provider: { timeout: script === hang ? '1500ms' : '60s' } });
    issuer.provider.introspection = script;
    const asked = gateway.ask(get('/asked/1', issuer.bearer()));
    const response = await (script === hang ? inTime(gateway.time, asked) : asked);
    expectError(response, 503, 14);
    expect(header(response, 'retry-after')).toBe('1');
    expect(values(response.fields, 'www-authenticate')).toEqual([]);
    if (what.includes('active'))
      expect(gateway.logLines.join()).toContain('has no member active that is true or false');
    // No other token is concerned.
    issuer.provider.introspection = scripts.json(200, { active: true });
    expect((await gateway.ask(get('/asked/1', issuer.bearer({ sub: 'bob' })))).status).toBe(200);
  });

  it('is logged once, and once more when it can again', async () => {
    withoutWorkers();
    const { gateway, issuer } = await front();
    issuer.provider.introspection = scripts.json(503, {});
    for (const sub of ['a', 'b', 'c']) await gateway.ask(get('/asked/1', issuer.bearer({ sub })));
    issuer.provider.introspection = scripts.json(200, { active: true });
    await gateway.ask(get('/asked/1', issuer.bearer({ sub: 'd' })));
    const lines = gateway.logLines
      .map(line => JSON.parse(line))
      .filter(({ type }) => type === 'introspection');
    expect(lines.map(({ outcome = 'mended' }) => outcome)).toEqual(['broken', 'mended']);
  });

  it('that refuses the gateway itself is a fault of the gateway, and nothing of it leaks', async () => {
    const { gateway, issuer } = await front();
    issuer.provider.introspection = scripts.json(401, {
      error: 'invalid_client',
      error_description: 'no entry',
    });
    const response = await gateway.ask(get('/asked/1', issuer.bearer()));
    expectError(response, 500, 13);
    expect(response.body.toString()).not.toContain('entry');
    expect(gateway.logLines.join('')).toContain(
      'the introspection_endpoint answered 401 invalid_client (no entry)',
    );
  });

  it('gets no more questions at a time than max_in_flight says, a quarter of them from one address', async () => {
    const { gateway, issuer, questions } = await front({ provider: { max_in_flight: 8 } });
    const hold: (() => void)[] = [];
    issuer.provider.introspection = (response, socket) =>
      void hold.push(() => scripts.json(200, { active: true })(response, socket));
    const of = (sub: string) => gateway.ask(get('/asked/1', issuer.bearer({ sub })));
    const waiting = [of('a'), of('b')];
    await waitFor('both are asked about', () => hold.length === 2);
    expectError(await of('c'), 503, 14);
    expect(questions).toHaveLength(2);
    for (const goOn of hold) goOn();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
  });
});

test('a provider that nobody here wrote knows the gateway’s client but refuses JWTs, and the log says so', async () => {
  const provider = await startDemoProvider();
  const redirectUri = provider.callbackUri;
  const routes = [{ path: '/asked/**', introspection: true }];
  const { gateway } = await startIdentityGateway({ issuer: provider.issuer, redirectUri, routes });
  await gateway.ready();
  const tokens = json(await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri));
  const bearer = `Authorization: Bearer ${secret(String(tokens['accessToken']))}`;
  const response = await gateway.ask(get('/asked/1', bearer));
  expectError(response, 500, 13);
  expect(response.body.toString()).not.toMatch(/JWT|unsupported/);
  expect(gateway.logLines.join('')).toContain(
    'the introspection_endpoint answered 400 unsupported_token_type',
  );
  expect((await gateway.ask(get('/elsewhere', bearer))).status).toBe(200);
});
