import { constants } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE, uint32 } from '../support/http2-frames.ts';
import { accessLines } from '../support/identity-gateway.ts';
import {
  askOnce,
  askTimes,
  fieldOf,
  GLOBAL_FIELDS,
  type LimitedGateway,
  rateFieldsOf,
  refusalOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import type { Response, Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const global = { user: '10000/1s', bot: '10000/1s', address: '10000/1s' };

/** The upstream answers with the status that the query names. */
const statusAsAsked: Script = exchange =>
  exchange.answer(Number(exchange.request.target.split('?')[1] ?? 200), ['X-RateLimit-Scope', 'shared']);

interface FrozenGateway extends LimitedGateway {
  readonly clock: FrozenClock;
}

/** A gateway whose time goes by only when the test says so: however busy the machine, a second has the requests it should have. */
async function startFrozen(...[limits, settings]: Parameters<typeof startLimited>): Promise<FrozenGateway> {
  const clock = new FrozenClock(Date.now());
  return { ...(await startLimited(limits, { ...settings, clock })), clock };
}

/** Lets the announced wait go by. Most of it is not enough; its very end is slack. */
async function released(front: FrozenGateway, target: string): Promise<void> {
  const waitMs = Number(refusalOf(await askOnce(front, target))['retry_after']) * 1_000;
  front.clock.advance(waitMs * 0.9);
  expect((await askOnce(front, target)).status).toBe(429);
  front.clock.advance(waitMs * 0.1);
}

describe('an address that sends too many invalid requests', () => {
  const limits = { global, invalid_requests: { limit: '4/60s', restrict_for: '2s' } };

  test('is refused before anything else, with a body and headers that say so, and without Via', async () => {
    const front = await startFrozen(limits);
    expect(statusesOf(await askTimes(front, 5, 'GET /a'))).toEqual([401, 401, 401, 401, 401]);
    const refused = await askOnce(front, 'GET /a', front.issuer.bearer());
    expect(refusalOf(refused)).toEqual({
      message: expect.any(String),
      retry_after: expect.any(Number),
      global: true,
      code: 8,
    });
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    expect(fieldOf(refused, 'via')).toBeUndefined();
    expect(fieldOf(refused, 'x-request-id')).toBeDefined();
    expect(front.upstream.requests).toHaveLength(0);
  });

  test('is released on time, after the announced wait', async () => {
    const front = await startFrozen(limits);
    await askTimes(front, 5, 'GET /a');
    await released(front, 'GET /a');
    expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(200);
  });

  test('leaves other addresses alone', async () => {
    const front = await startFrozen(limits);
    await askTimes(front, 5, 'GET /a');
    const bytes = head('GET /a', front.issuer.bearer());
    expect((await front.gateway.ask(bytes, { localAddress: '127.0.0.9' })).status).toBe(200);
  });

  test.each([401, 403, 429])("is counted by its upstream's %i as well", async status => {
    const front = await startFrozen(limits, {
      upstream: exchange => exchange.answer(status, ['X-RateLimit-Scope', 'user']),
    });
    const bearer = front.issuer.bearer();
    expect(statusesOf(await askTimes(front, 6, 'GET /a', bearer))).toEqual([
      ...Array.from({ length: 5 }, () => status),
      429,
    ]);
    expect(front.upstream.requests).toHaveLength(5);
  });

  test.each([400, 404, 500, 503, 200])('is not counted by a %i', async status => {
    const front = await startFrozen(limits, { upstream: exchange => exchange.answer(status) });
    const responses = await askTimes(front, 8, 'GET /a', front.issuer.bearer());
    expect(new Set(statusesOf(responses))).toEqual(new Set([status]));
  });

  test("is not counted by an upstream's 429 with scope shared", async () => {
    const front = await startFrozen(limits, {
      upstream: exchange => exchange.answer(429, ['X-RateLimit-Scope', 'shared', 'Retry-After', '1']),
    });
    await askTimes(front, 8, 'GET /a', front.issuer.bearer());
    expect(front.upstream.requests).toHaveLength(8);
  });

  test('is counted by its own refusals, but not by those of a shared bucket', async () => {
    const front = await startFrozen({
      ...limits,
      buckets: { own: { user: '1/60s' }, shared: { user: '1/60s' } },
      routes: { 'GET /own': 'own', 'GET /s': 'shared', 'POST /s': 'shared' },
    });
    const bearer = front.issuer.bearer();
    await askTimes(front, 9, 'GET /s', bearer);
    const own = await askTimes(front, 7, 'GET /own', bearer);
    expect(own.map(response => fieldOf(response, 'via') === undefined)).toEqual([
      ...[false, false, false, false, false, false],
      true,
    ]);
  });

  test('is not restricted for longer by what it sends during the restriction', async () => {
    const front = await startFrozen(limits);
    await askTimes(front, 5, 'GET /a');
    const first = Number(refusalOf(await askOnce(front, 'GET /a'))['retry_after']);
    front.clock.advance(1_000);
    await askTimes(front, 50, 'GET /a');
    front.clock.advance(first * 1_000 - 1_000);
    expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(200);
  });

  test('is never restricted where it is on the list', async () => {
    const front = await startFrozen({ ...limits, never_restrict: ['127.0.0.0/8'] });
    expect(new Set(statusesOf(await askTimes(front, 20, 'GET /a')))).toEqual(new Set([401]));
  });

  test('shows in the metrics', async () => {
    const front = await startFrozen(limits);
    await askTimes(front, 5, 'GET /a');
    await askOnce(front, 'GET /a');
    const { text } = await front.gateway.admin('/metrics');
    expect(text).toMatch(/^weir_restrictions_total\{.*kind="address".*\} 1$/m);
    expect(text).toMatch(/^weir_invalid_requests_total\{.*status="401".*\} 5$/m);
  });

  test('has its long-lived streams closed', async () => {
    const front = await startFrozen(limits, {
      upstream: async exchange => {
        await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        await exchange.gone;
      },
    });
    const stream = await front.gateway.connect();
    await stream.send(head('GET /stream', front.issuer.bearer()));
    await waitFor('the stream has begun', () => stream.bytesRead > 0);
    await askTimes(front, 5, 'GET /a');
    await waitFor('the stream is closed', () => stream.end !== null);
  });
});

test('a refusal that its client is slow to read is not cut off when its sender is restricted', async () => {
  const limits = { global, invalid_requests: { limit: '4/60s', restrict_for: '60s' } };
  const front = await startFrozen(limits, {
    config: { listen: H2C, log: { level: 'info', access: true } },
    upstream: async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      await exchange.gone;
    },
  });
  const noWindow = [constants.NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0] as const;
  const client = await (await connectFrames(front.gateway.port)).begin(noWindow);
  await client.send(headers(1, request('/refused')));
  expect(await client.status(1)).toBe(401);
  const stream = await front.gateway.connect();
  await stream.send(head('GET /stream', front.issuer.bearer()));
  await waitFor('the stream has begun', () => stream.bytesRead > 0);
  await askTimes(front, 5, 'GET /a');
  await waitFor('the stream is closed', () => stream.end !== null);
  await client.send(frame(TYPE.windowUpdate, 0, 1, uint32(65_535)));
  await client.next(({ type, flags }) => type === TYPE.data && (flags & FLAG.endStream) !== 0);
  const line = () => accessLines(front.gateway).find(({ protocol }) => protocol === 'h2');
  await expect.poll(line).toMatchObject({ status: 401, outcome: 'answered' });
});

test('the forged address of a victim restricts only who sends it', async () => {
  const front = await startFrozen({ global, invalid_requests: { limit: '4/60s', restrict_for: '60s' } });
  const forged = 'X-Forwarded-For: 127.0.0.9';
  await askTimes(front, 5, 'GET /a', forged);
  expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(429);
  const victim = await front.gateway.ask(head('GET /a', front.issuer.bearer()), {
    localAddress: '127.0.0.9',
  });
  expect(victim.status).toBe(200);
});

test('10,000 invalid requests of one address are allowed by default, and one more is too many', async () => {
  const front = await startFrozen({ global: 'off', failed_verifications: 'off' });
  const clients = await Promise.all(Array.from({ length: 10 }, () => front.gateway.connect()));
  const seen: (number | boolean)[] = [];
  await Promise.all(
    clients.map(async client => {
      for (let i = 0; i < 1_000; i++) {
        const response = await client.ask(head('GET /a'));
        if (response.status !== 401) seen.push(response.status);
      }
    }),
  );
  expect(seen).toEqual([]);
  expect((await askOnce(front, 'GET /a')).status).toBe(401);
  const refused = await askOnce(front, 'GET /a');
  expect(refusalOf(refused)['code']).toBe(8);
  expect(Number(fieldOf(refused, 'retry-after'))).toBeGreaterThan(590);
  expect(Number(fieldOf(refused, 'retry-after'))).toBeLessThanOrEqual(600);
});

describe('a webhook that answers 404', () => {
  const limits = { global, webhook_not_found: { limit: '2/60s', restrict_for: '2s' } };
  const routes = [
    { path: '/hooks/{id}/{token}', authentication: 'none', webhook: true },
    { path: '/plain/{id}', authentication: 'none' },
  ];

  test('is refused to the address that keeps calling it, and to no other', async () => {
    const front = await startFrozen(limits, { routes, upstream: statusAsAsked });
    expect(statusesOf(await askTimes(front, 3, 'GET /hooks/1/secret?404'))).toEqual([404, 404, 404]);
    const refused = await askOnce(front, 'GET /hooks/1/secret');
    expect(refusalOf(refused)).toEqual({
      message: expect.any(String),
      retry_after: expect.any(Number),
      global: false,
      code: 8,
    });
    expect(rateFieldsOf(refused)).toEqual(['retry-after', 'x-ratelimit-scope']);
    expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('shared');
    expect(fieldOf(refused, 'via')).toBe('1.1 weir');
    const elsewhere = await front.gateway.ask(head('GET /hooks/1/secret'), { localAddress: '127.0.0.9' });
    expect(elsewhere.status).toBe(200);
    expect((await askOnce(front, 'GET /hooks/1/other')).status).toBe(200);
    expect((await askOnce(front, 'GET /hooks/2/secret')).status).toBe(200);
  });

  test('is one of more than a hundred at once: the address is refused everywhere, as are an abuser and whom an operator restricts', async () => {
    const front = await startFrozen(
      {
        ...{ global, invalid_requests: { limit: '4/60s', restrict_for: '60s' } },
        webhook_not_found: { limit: '1/60s', restrict_for: '60s' },
      },
      {
        ...{ routes, upstream: statusAsAsked },
        config: {
          listen: {
            http: '127.0.0.1:0',
            admin: { address: '127.0.0.1:0', token_file: await tempText('admin-token', ADMIN_TOKEN) },
          },
        },
      },
    );
    const from = (localAddress: string, target: string) => front.gateway.ask(head(target), { localAddress });
    for (let i = 0; i < 100; i++) await askTimes(front, 2, `GET /hooks/1/dead${i}?404`);
    expect((await askOnce(front, 'GET /plain/1')).status).toBe(200);
    await askTimes(front, 2, 'GET /hooks/1/dead100?404');
    const refused = refusalOf(await askOnce(front, 'GET /plain/1'));
    expect(refused).toMatchObject({ global: true, code: 8, message: expect.stringMatching(/webhooks/) });
    for (let i = 0; i < 5; i++) expect((await from('127.0.0.7', 'GET /a')).status).toBe(401);
    expect((await from('127.0.0.7', 'GET /plain/1')).status).toBe(429);
    const api = await ApiClient.of(front.gateway);
    const body = { address: '127.0.0.8', for: '10m' };
    expect((await api.call('POST', '/api/restrictions', { body })).status).toBe(201);
    expect((await from('127.0.0.8', 'GET /plain/1')).status).toBe(429);
    expect((await from('127.0.0.9', 'GET /plain/1')).status).toBe(200);
    // The place that the address took on each webhook is free again.
    expect((await api.call('GET', '/api/restrictions')).body).toMatchObject({ total: 3 });
  });

  test('is open again when its time is over', async () => {
    const front = await startFrozen(limits, { routes, upstream: statusAsAsked });
    await askTimes(front, 3, 'GET /hooks/1/secret?404');
    await released(front, 'GET /hooks/1/secret');
    expect((await askOnce(front, 'GET /hooks/1/secret')).status).toBe(200);
  });

  test('is counted only where the route says that it is one', async () => {
    const front = await startFrozen(limits, { routes, upstream: statusAsAsked });
    expect(new Set(statusesOf(await askTimes(front, 9, 'GET /plain/1?404')))).toEqual(new Set([404]));
  });

  test('does not count as an invalid request', async () => {
    const front = await startFrozen(
      { ...limits, invalid_requests: { limit: '4/60s', restrict_for: '60s' } },
      { routes, upstream: statusAsAsked },
    );
    await askTimes(front, 3, 'GET /hooks/1/secret?404');
    const refused = await askTimes(front, 9, 'GET /hooks/1/secret');
    expect(refused.map(response => refusalOf(response)['global'])).not.toContain(true);
  });

  test('keeps its parameters out of the log and the metrics', async () => {
    const front = await startFrozen(limits, { routes, upstream: statusAsAsked });
    await askTimes(front, 4, 'GET /hooks/marker-id/marker-token?404');
    const { text } = await front.gateway.admin('/metrics');
    expect(`${text}${front.gateway.logLines.join('\n')}`).not.toContain('marker');
  });
});

describe('a caller who ignores refusals', () => {
  const limits = {
    global: { user: '1/30s', address: '100/1s' },
    ignored_refusals: { limit: '2/60s', restrict_for: '2s' },
    invalid_requests: 'off',
  };

  test('is restricted on every address, with a response that has Via', async () => {
    const front = await startFrozen(limits);
    const bearer = front.issuer.bearer();
    expect(statusesOf(await askTimes(front, 2, 'GET /a', bearer))).toEqual([200, 429]);
    front.clock.advance(1_001);
    await askTimes(front, 3, 'GET /a', bearer);
    const refused = await front.gateway.ask(head('GET /a', bearer), { localAddress: '127.0.0.9' });
    expect(refusalOf(refused)).toMatchObject({ global: true, code: 8 });
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    expect(fieldOf(refused, 'via')).toBe('1.1 weir');
    expect((await askOnce(front, 'GET /a', front.issuer.bearer({ sub: 'bob' }))).status).toBe(200);
  });

  test('is not counted in the first second, in which requests may have been under way', async () => {
    const front = await startFrozen(limits);
    const bearer = front.issuer.bearer();
    const first = await askTimes(front, 10, 'GET /a', bearer);
    front.clock.advance(1_000);
    const responses = [...first, ...(await askTimes(front, 10, 'GET /a', bearer))];
    expect(responses.slice(1).every(response => refusalOf(response)['code'] === undefined)).toBe(true);
  });

  test('is restricted by default for ten minutes after a thousand of them', async () => {
    const front = await startFrozen({ global: limits.global, invalid_requests: 'off' });
    const bearer = front.issuer.bearer();
    await askTimes(front, 2, 'GET /a', bearer);
    front.clock.advance(1_001);
    const responses = await askTimes(front, 1_002, 'GET /a', bearer);
    expect(refusalOf(responses[1_000])['code']).toBeUndefined();
    expect(refusalOf(responses[1_001])['code']).toBe(8);
    expect(Number(fieldOf(responses[1_001], 'retry-after'))).toBe(600);
  });

  const shared = {
    buckets: { both: { user: '1/60s', address: '1/60s' } },
    routes: { 'GET /s': 'both', 'POST /s': 'both', 'GET /open/s': 'both' },
  };

  test('is restricted for the flood of a bucket of several routes, which counts as no invalid request', async () => {
    const rule = { ignored_refusals: { limit: '3/60s' }, invalid_requests: { limit: '2/60s' } };
    const front = await startFrozen({ global, ...shared, ...rule });
    const bearer = front.issuer.bearer();
    await askTimes(front, 3, 'GET /s', bearer);
    front.clock.advance(1_001);
    const responses = await askTimes(front, 5, 'POST /s', bearer);
    expect(responses.slice(0, 4).map(response => fieldOf(response, 'x-ratelimit-scope'))).toEqual(
      Array.from({ length: 4 }, () => 'shared'),
    );
    expect(refusalOf(responses[4])).toMatchObject({ code: 8, global: true });
    expect((await askOnce(front, 'GET /open/other')).status).toBe(200);
  });

  test.each(['user', 'resource'])(
    'is restricted for the flood of main values past those that it may hold: %s',
    async role => {
      const front = await startFrozen({
        global: 'off',
        keys_per_caller: 2,
        buckets: { things: { main: 'id', [role]: '1/60s' } },
        routes: { 'GET /things/{id}': 'things' },
        ignored_refusals: { limit: '3/60s' },
        invalid_requests: 'off',
      });
      const bearer = front.issuer.bearer();
      const asked: Response[] = [];
      for (let id = 0; id < 9; id++) {
        asked.push(await askOnce(front, `GET /things/${id}`, bearer));
        if (id === 3) front.clock.advance(1_001);
      }
      expect(statusesOf(asked)).toEqual([200, 200, 200, 429, 429, 429, 429, 429, 429]);
      expect(asked.slice(3).map(response => refusalOf(response)['code'])).toEqual([
        ...[undefined, undefined, undefined, undefined, undefined, 8],
      ]);
    },
  );

  test('is restricted for the flood of main values past those that it may hold in a smooth limit, whose waits are short', async () => {
    const front = await startFrozen({
      global: 'off',
      keys_per_caller: 1,
      buckets: { things: { main: 'id', resource: '2/1s', algorithm: 'smooth' } },
      routes: { 'GET /things/{id}': 'things' },
      ignored_refusals: { limit: '3/60s' },
      invalid_requests: 'off',
    });
    const bearer = front.issuer.bearer();
    const codes: unknown[] = [];
    for (let id = 0; id < 40; id++) {
      const response = await askOnce(front, `GET /things/${id}`, bearer);
      if (response.status === 429) codes.push(refusalOf(response)['code']);
      front.clock.advance(100);
    }
    expect([codes[0], codes.at(-1)]).toEqual([undefined, 8]);
  });

  test.each([
    [false, undefined],
    [true, 8],
  ])('that is an address is restricted only where the file says so: %s', async (addresses, code) => {
    const rule = { ignored_refusals: { limit: '3/60s', addresses }, invalid_requests: 'off' };
    const front = await startFrozen({ global, ...shared, ...rule });
    await askTimes(front, 2, 'GET /open/s');
    front.clock.advance(1_001);
    const responses = await askTimes(front, 9, 'GET /open/s');
    expect(refusalOf(responses.at(-1))['code']).toBe(code);
  });

  test('is never restricted where the rule is off', async () => {
    const front = await startFrozen({ global, ...shared, ignored_refusals: 'off' });
    const bearer = front.issuer.bearer();
    await askTimes(front, 2, 'GET /s', bearer);
    front.clock.advance(1_001);
    const responses = await askTimes(front, 1_100, 'GET /s', bearer);
    expect(refusalOf(responses.at(-1))['code']).toBeUndefined();
  });
});
