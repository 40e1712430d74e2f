import { describe, expect, test } from 'vitest';
import {
  answering,
  type BareGateway,
  bareGateway,
  failing,
  type Sending,
  silence,
} from '../../support/bare-gateway.ts';
import { statusesOf } from '../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const SCOPE = 'X-RateLimit-Scope';

/** Whether the address was restricted for what it had sent. */
async function isRestricted(bare: BareGateway): Promise<boolean> {
  bare.service = answering(200);
  return (await bare.ask('GET /open/last')).status === 429;
}

describe('an invalid request', () => {
  const invalid_requests = { limit: '3/60s', restrict_for: '60s' };

  test.each<[string, boolean, number, readonly string[]]>([
    ['a 401', true, 401, []],
    ['a 403', true, 403, []],
    ['a 429 of its caller', true, 429, [SCOPE, 'user']],
    ['a global 429', true, 429, [SCOPE, 'global']],
    ['a 429 of all callers', false, 429, [SCOPE, 'shared']],
    ['a 429 that says nothing', false, 429, ['Retry-After', '1']],
    ['a 200', false, 200, []],
    ['a 400', false, 400, []],
    ['a 404', false, 404, []],
    ['a 500', false, 500, []],
    ['a 503', false, 503, []],
  ])('is told by what the service answers: %s: %s', async (_, counts, status, fields) => {
    const bare = await bareGateway({ invalid_requests }, { service: answering(status, fields) });
    expect(statusesOf(await bare.askTimes(4, 'GET /a', ALICE))).toEqual(Array(4).fill(status));
    expect(bare.told.filter(([event]) => event === 'invalid')).toEqual(
      counts ? Array(4).fill(['invalid', status]) : [],
    );
    expect(bare.records.every(({ offenceAtMs }) => offenceAtMs > 0 === counts)).toBe(true);
    expect(await isRestricted(bare)).toBe(counts);
  });

  test('is a 429 that passes unchanged: nothing says that other callers share the blame', async () => {
    const routes = [{ path: '/passing', upstream_429: 'pass' }];
    const bare = await bareGateway({ invalid_requests }, { routes, service: answering(429) });
    await bare.askTimes(4, 'GET /passing', ALICE);
    expect(await isRestricted(bare)).toBe(true);
  });

  test.each([
    ['one of its own bucket', { 'GET /a': 'b' }, true],
    ['not one of a bucket of several routes', { 'GET /a': 'b', 'POST /a': 'b' }, false],
  ])('is a 429 of the gateway: %s', async (_, routes, counts) => {
    const bare = await bareGateway({ invalid_requests, buckets: { b: { user: '1/60s' } }, routes });
    await bare.askTimes(5, 'GET /a', ALICE);
    expect(await isRestricted(bare)).toBe(counts);
  });

  test('is none of a caller that is never restricted', async () => {
    const never_restrict = [{ client: 'app', subject: 'alice' }];
    const bare = await bareGateway({ invalid_requests, never_restrict, global: { user: '1/10m' } });
    await bare.askTimes(9, 'GET /a', ALICE);
    expect(bare.records.at(-1)).toMatchObject({
      isSpared: true,
      offenceAtMs: expect.toSatisfy(atMs => atMs > 0),
    });
    expect((await bare.ask('GET /open/a')).status).toBe(200);
    await bare.askTimes(9, 'GET /a', BOB);
    expect(await isRestricted(bare)).toBe(true);
  });

  test('is counted as soon as its status is known, however long its body takes', async () => {
    const service = (...[, sink]: Parameters<typeof silence>) => sink.head(403, '', [], null);
    const bare = await bareGateway({ invalid_requests }, { service });
    for (let i = 0; i < 4; i++) bare.send('GET /a', ALICE);
    expect(await isRestricted(bare)).toBe(true);
    expect(bare.records).toHaveLength(1);
  });
});

describe('a unit of what callers share', () => {
  const cases = [
    ['a resource', { main: 'id', user: '9/60s', resource: '1/60s' }],
    ['a group', { main: 'id', group: { claim: 'team', limit: '1/60s' } }],
  ] as const;
  const start = (bucket: object, status: number) =>
    bareGateway(
      { buckets: { things: bucket }, routes: { '/things/{id}': 'things' } },
      { service: answering(status) },
    );
  const ask = (bare: BareGateway, sub: string) => bare.ask('GET /things/1', { as: { sub, team: 'red' } });

  describe.each(cases)('of %s', (_, bucket) => {
    test.each([401, 403, 404])('is returned where the service answers %i', async status => {
      const bare = await start(bucket, status);
      for (let i = 0; i < 3; i++) expect((await ask(bare, 'mallory')).status).toBe(status);
      expect(bare.records.every(({ returnedAtMs }) => returnedAtMs > 0)).toBe(true);
      bare.service = answering(200);
      expect([(await ask(bare, 'alice')).status, (await ask(bare, 'bob')).status]).toEqual([200, 429]);
    });

    test.each([200, 400, 410, 500])('is gone where it answers %i', async status => {
      const bare = await start(bucket, status);
      await ask(bare, 'alice');
      expect(bare.records[0]?.returnedAtMs).toBe(0);
      expect((await ask(bare, 'bob')).status).toBe(429);
    });
  });

  test('in shadow is returned as well', async () => {
    const bare = await start({ main: 'id', shadow: { resource: '1/60s' } }, 403);
    for (let i = 0; i < 3; i++) await ask(bare, 'alice');
    expect(bare.told.filter(([event]) => event === 'shadowRefused')).toEqual([]);
  });

  test('is not returned for a refusal of the gateway', async () => {
    const bare = await start({ main: 'id', user: '9/60s', resource: '1/60s' }, 200);
    expect((await bare.ask('GET /things/1')).status).toBe(401);
    expect(bare.records[0]).toMatchObject({
      returnedAtMs: 0,
      offenceAtMs: expect.toSatisfy(atMs => atMs > 0),
    });
  });
});

describe('the record of an exchange', () => {
  test('says who asked for what, what it came to, and how long each part took', async () => {
    const bare = await bareGateway({
      buckets: { things: { user: '9/60s' } },
      routes: { '/things': 'things' },
    });
    bare.service = (_, sink) => {
      bare.clock.advance(30);
      sink.head(200, '', [], null);
      bare.clock.advance(12);
      sink.data(Buffer.from('hello'), null);
      sink.end([]);
    };
    await bare.ask('GET /things?q=1', { ...ALICE, from: '192.0.2.7' });
    const [record] = bare.records;
    expect(record).toMatchObject({
      ...{ method: 'GET', path: '/things', route: '/**', upstream: 'api', clientAddress: '192.0.2.7' },
      ...{ status: 200, outcome: 'forwarded', bytesSent: 5, error: null, retried: false, heldMs: 0 },
      caller: { class: 'user', principal: 'user:app alice' },
      decision: { bucket: 'things', outcome: 'admitted', consumes: 'all' },
      restriction: null,
    });
    expect(record?.upstreamMs).toBeCloseTo(30);
    expect(record?.durationMs).toBeCloseTo(42);
    expect(record?.sentAfterMs).toBeCloseTo(0);
  });

  test.each<[string, Sending, object]>([
    ['whose caller was remembered', ALICE, { consumes: 'all', isCallerUnknown: false }],
    ['whose token was not looked at', BOB, { consumes: 'all', isCallerUnknown: true }],
    ['without a token', {}, { consumes: 'global', isCallerUnknown: false }],
  ])('that a restriction refused says what it would have drawn on: %s', async (_, sending, expected) => {
    const bare = await bareGateway({ invalid_requests: { limit: '1/60s', restrict_for: '60s' } });
    const { memory } = bare.send('GET /a', ALICE).client;
    await bare.askTimes(2, 'GET /a');
    await bare.ask('GET /a', { ...sending, on: memory });
    expect(bare.records.at(-1)?.restriction).toEqual({ by: 'address', ...expected });
  });

  test('tells whose fault a failure was, and the cause', async () => {
    const bare = await bareGateway({}, { service: (_, sink) => sink.fail(failing('reset')) });
    await bare.ask('GET /open/a');
    expect(bare.records[0]).toMatchObject({ status: 502, outcome: 'answered', upstreamMs: null });
    expect(bare.records[0]?.error).toMatchObject({ side: 'upstream', cause: 'broken' });
  });

  test('has a stack where the gateway itself failed, and is made although reading it fails', async () => {
    const bare = await bareGateway();
    bare.service = () => {
      throw new Error('a fault');
    };
    expect((await bare.ask('GET /open/a')).status).toBe(500);
    expect(bare.records[0]?.error).toMatchObject({
      side: 'gateway',
      cause: expect.stringMatching(/a fault\n +at /),
    });
    const { exchange } = bare.send('GET /open/a');
    Object.defineProperty(exchange, 'ruling', {
      get: () => {
        throw new Error('another');
      },
    });
    bare.gateway.over(exchange, true);
    expect(bare.records[1]).toMatchObject({ status: 500, error: { side: 'gateway' } });
  });

  test('says that its client left before a response, or within it', async () => {
    const bare = await bareGateway({}, { service: silence });
    bare.send('GET /open/a').leave();
    bare.service = (_, sink) => sink.head(200, '', [], null);
    bare.send('GET /open/a').leave();
    expect(bare.records.map(({ status, outcome }) => [status, outcome])).toEqual([
      [0, 'abandoned'],
      [200, 'abandoned'],
    ]);
    expect(bare.aborted).toBe(2);
  });
});
