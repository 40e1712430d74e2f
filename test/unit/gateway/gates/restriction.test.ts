import { describe, expect, test } from 'vitest';
import { type BareGateway, bareGateway, type Sending, type Service } from '../../../support/bare-gateway.ts';
import { fieldOf, refusalOf, statusesOf } from '../../../support/rate-fields.ts';
import type { Response } from '../../../support/wire/index.ts';

const global = { user: '10000/1s', bot: '10000/1s', address: '10000/1s' };
const ALICE: Sending = { as: true };
const ELSEWHERE: Sending = { from: '192.0.2.9' };

/** A service that answers with the status that the query names. */
const statusAsAsked: Service = ({ target }, sink) =>
  sink.whole(Number(target.split('?')[1] ?? 200), '', ['X-RateLimit-Scope', 'shared'], '');

/** The codes of these refusals: 8 is that of a restriction. */
const codesOf = (responses: readonly Response[]) =>
  responses.map(response => refusalOf(response)['code'] ?? null);

/** Lets the announced wait pass. Most of it is not enough. */
async function expectReleased(bare: BareGateway, line: string, sending: Sending = {}): Promise<void> {
  const waitMs = Number(refusalOf(await bare.ask(line, sending))['retry_after']) * 1_000;
  bare.clock.advance(waitMs * 0.9);
  expect((await bare.ask(line, sending)).status).toBe(429);
  bare.clock.advance(waitMs * 0.1);
}

describe('an address that sends too many invalid requests', () => {
  const limits = { global, invalid_requests: { limit: '4/60s', restrict_for: '2s' } };

  test('is refused everything, also with a valid token, until the announced wait is over; others are not', async () => {
    const bare = await bareGateway(limits);
    expect(statusesOf(await bare.askTimes(5, 'GET /a'))).toEqual(Array(5).fill(401));
    expect(refusalOf(await bare.ask('GET /open/a', ALICE))).toMatchObject({ global: true, code: 8 });
    expect(bare.records.at(-1)?.restriction).toMatchObject({ by: 'address' });
    expect((await bare.ask('GET /a', { ...ALICE, ...ELSEWHERE })).status).toBe(200);
    expect(bare.requests).toHaveLength(1);
    await expectReleased(bare, 'GET /a');
    expect((await bare.ask('GET /a', ALICE)).status).toBe(200);
  });

  test('is not restricted for longer by what it sends meanwhile', async () => {
    const bare = await bareGateway(limits);
    await bare.askTimes(5, 'GET /a');
    bare.clock.advance(1_000);
    await bare.askTimes(50, 'GET /a');
    bare.clock.advance(1_000);
    expect((await bare.ask('GET /a', ALICE)).status).toBe(200);
  });

  test('is never restricted where never_restrict lists it', async () => {
    const bare = await bareGateway({ ...limits, never_restrict: ['192.0.2.0/24'] });
    expect(statusesOf(await bare.askTimes(20, 'GET /a'))).toEqual(Array(20).fill(401));
  });

  test('is the one that sends them, whose address it may forge', async () => {
    const bare = await bareGateway(limits);
    await bare.askTimes(5, 'GET /a', { fields: ['X-Forwarded-For', '192.0.2.9'] });
    expect((await bare.ask('GET /a', ALICE)).status).toBe(429);
    expect((await bare.ask('GET /a', { ...ALICE, ...ELSEWHERE })).status).toBe(200);
  });

  test.each(['TRACE /a', 'CONNECT a.test:80', 'MADEUP /a', 'GET /a//b'])(
    'is told so before anything else: %s',
    async line => {
      const bare = await bareGateway(limits);
      await bare.askTimes(5, 'GET /a');
      const refused = await bare.ask(line);
      expect([refused.status, fieldOf(refused, 'via')]).toEqual([429, undefined]);
    },
  );

  test('has 10,000 by default, and is refused for ten minutes after one more', async () => {
    const bare = await bareGateway({ failed_verifications: 'off' });
    for (let i = 0; i < 9_999; i++) bare.limiting.offences.invalidRequests.note('192.0.2.1');
    expect(statusesOf(await bare.askTimes(2, 'GET /a'))).toEqual([401, 401]);
    expect(refusalOf(await bare.ask('GET /a'))).toMatchObject({ code: 8, retry_after: 600 });
  });
});

describe('a webhook that answers 404', () => {
  const limits = { global, webhook_not_found: { limit: '2/60s', restrict_for: '2s' } };
  const routes = [
    { path: '/hooks/{id}/{token}', authentication: 'none', webhook: true },
    { path: '/plain/{id}', authentication: 'none' },
  ];
  const settings = { routes, service: statusAsAsked };

  test('is refused for a while to the address that keeps calling it, and to no other', async () => {
    const bare = await bareGateway(limits, settings);
    expect(statusesOf(await bare.askTimes(3, 'GET /hooks/1/secret?404'))).toEqual([404, 404, 404]);
    expect(refusalOf(await bare.ask('GET /hooks/1/secret'))).toMatchObject({ global: false, code: 8 });
    expect((await bare.ask('GET /hooks/1/secret', ELSEWHERE)).status).toBe(200);
    for (const other of ['/hooks/1/other', '/hooks/2/secret'])
      expect((await bare.ask(`GET ${other}`)).status).toBe(200);
    await expectReleased(bare, 'GET /hooks/1/secret');
    expect((await bare.ask('GET /hooks/1/secret')).status).toBe(200);
  });

  test('is one of more than a hundred at once: the address is refused everywhere', async () => {
    const bare = await bareGateway(
      { ...limits, webhook_not_found: { limit: '1/60s', restrict_for: '60s' } },
      settings,
    );
    for (let i = 0; i < 100; i++) await bare.askTimes(2, `GET /hooks/1/dead${i}?404`);
    expect((await bare.ask('GET /plain/1')).status).toBe(200);
    await bare.askTimes(2, 'GET /hooks/1/dead100?404');
    expect(refusalOf(await bare.ask('GET /plain/1'))).toMatchObject({
      ...{ global: true, code: 8, message: expect.stringMatching(/webhooks/) },
    });
    expect((await bare.ask('GET /plain/1', ELSEWHERE)).status).toBe(200);
  });

  test('is counted only where the route says that it is one', async () => {
    const bare = await bareGateway(limits, settings);
    expect(statusesOf(await bare.askTimes(9, 'GET /plain/1?404'))).toEqual(Array(9).fill(404));
  });

  test('does not count as an invalid request, nor do its refusals', async () => {
    const invalid_requests = { limit: '4/60s', restrict_for: '60s' };
    const bare = await bareGateway({ ...limits, invalid_requests }, settings);
    await bare.askTimes(3, 'GET /hooks/1/secret?404');
    await bare.askTimes(9, 'GET /hooks/1/secret');
    expect((await bare.ask('GET /plain/1')).status).toBe(200);
  });
});

describe('a caller who ignores refusals', () => {
  const limits = {
    global: { user: '1/30s', address: '100/1s' },
    ignored_refusals: { limit: '2/60s', restrict_for: '2s' },
    invalid_requests: 'off',
  };
  /** Until then, requests may have been under way when the first refusal reached their caller. */
  const UNDER_WAY_MS = 1_001;

  test('is restricted on every address, and on its own alone', async () => {
    const bare = await bareGateway(limits);
    expect(statusesOf(await bare.askTimes(2, 'GET /a', ALICE))).toEqual([200, 429]);
    bare.clock.advance(UNDER_WAY_MS);
    await bare.askTimes(3, 'GET /a', ALICE);
    const refused = await bare.ask('GET /a', { ...ALICE, ...ELSEWHERE });
    expect(refusalOf(refused)).toMatchObject({ global: true, code: 8 });
    expect((await bare.ask('GET /a', { as: { sub: 'bob' } })).status).toBe(200);
  });

  test('is not counted in the first second', async () => {
    const bare = await bareGateway(limits);
    await bare.ask('GET /a', ALICE);
    expect(codesOf(await bare.askTimes(9, 'GET /a', ALICE))).toEqual(Array(9).fill(null));
    bare.clock.advance(1_000);
    expect(codesOf(await bare.askTimes(10, 'GET /a', ALICE))).toEqual(Array(10).fill(null));
  });

  test('is restricted by default for ten minutes after a thousand of them', async () => {
    const bare = await bareGateway({ global: limits.global, invalid_requests: 'off' });
    await bare.askTimes(2, 'GET /a', ALICE);
    bare.clock.advance(UNDER_WAY_MS);
    const responses = await bare.askTimes(1_002, 'GET /a', ALICE);
    expect(codesOf(responses.slice(1_000))).toEqual([null, 8]);
    expect(fieldOf(responses[1_001], 'retry-after')).toBe('600');
  });

  const shared = {
    buckets: { both: { user: '1/60s', address: '1/60s' } },
    routes: { 'GET /s': 'both', 'POST /s': 'both', 'GET /open/s': 'both' },
  };

  test('is restricted for the flood of a bucket of several routes, which counts as no invalid request', async () => {
    const rules = { ignored_refusals: { limit: '3/60s' }, invalid_requests: { limit: '2/60s' } };
    const bare = await bareGateway({ global, ...shared, ...rules });
    await bare.askTimes(3, 'GET /s', ALICE);
    bare.clock.advance(UNDER_WAY_MS);
    const responses = await bare.askTimes(5, 'POST /s', ALICE);
    expect(codesOf(responses)).toEqual([null, null, null, null, 8]);
    expect(fieldOf(responses[3], 'x-ratelimit-scope')).toBe('shared');
    expect((await bare.ask('GET /open/other')).status).toBe(200);
  });

  test.each(['user', 'resource'])(
    'is restricted for main values past those that it may hold: %s',
    async role => {
      const bare = await bareGateway({
        ...{ keys_per_caller: 2, ignored_refusals: { limit: '3/60s' }, invalid_requests: 'off' },
        ...{ buckets: { things: { main: 'id', [role]: '1/60s' } }, routes: { 'GET /things/{id}': 'things' } },
      });
      const asked: Response[] = [];
      for (let id = 0; id < 9; id++) {
        asked.push(await bare.ask(`GET /things/${id}`, ALICE));
        if (id === 3) bare.clock.advance(UNDER_WAY_MS);
      }
      expect(statusesOf(asked.slice(0, 3))).toEqual([200, 200, 200]);
      expect(codesOf(asked.slice(3))).toEqual([null, null, null, null, null, 8]);
    },
  );

  test('is restricted for main values past those that it may hold in a smooth limit, whose waits are short', async () => {
    const things = { main: 'id', resource: '2/1s', algorithm: 'smooth' };
    const bare = await bareGateway({
      ...{ keys_per_caller: 1, ignored_refusals: { limit: '3/60s' }, invalid_requests: 'off' },
      ...{ buckets: { things }, routes: { 'GET /things/{id}': 'things' } },
    });
    const refused: Response[] = [];
    for (let id = 0; id < 40; id++) {
      const response = await bare.ask(`GET /things/${id}`, ALICE);
      if (response.status === 429) refused.push(response);
      bare.clock.advance(100);
    }
    const codes = codesOf(refused);
    expect([codes[0], codes.at(-1)]).toEqual([null, 8]);
  });

  test.each([
    ['an address', {}, { limit: '3/60s', addresses: false }, null],
    ['an address where the file says so', {}, { limit: '3/60s', addresses: true }, 8],
    ['a caller where the rule is off', ALICE, 'off', null],
  ] as const)('is restricted or not: %s', async (_, sending, ignored_refusals, code) => {
    const bare = await bareGateway({ global, ...shared, ignored_refusals, invalid_requests: 'off' });
    const line = 'as' in sending ? 'GET /s' : 'GET /open/s';
    await bare.askTimes(2, line, sending);
    bare.clock.advance(UNDER_WAY_MS);
    expect(codesOf(await bare.askTimes(9, line, sending)).at(-1)).toBe(code);
  });
});
