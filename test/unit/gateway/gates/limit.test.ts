import { describe, expect, test } from 'vitest';
import { answering, bareGateway, type Sending, silence } from '../../../support/bare-gateway.ts';
import type { ConfigPart } from '../../../support/gateway.ts';
import {
  fieldOf,
  GLOBAL_FIELDS,
  rateFieldsOf,
  rateOf,
  refusalOf,
  statusesOf,
} from '../../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const BOT: Sending = { as: { client_id: 'robot', azp: 'robot' } };

describe('a bucket with a main parameter', () => {
  const limits = {
    buckets: { messages: { main: 'channel', user: '2/60s' } },
    routes: { '/channels/{channel}/messages/**': 'messages' },
  };

  test('has a quota for each caller and each of its values, and a hash for each value', async () => {
    const bare = await bareGateway(limits);
    const asked = await bare.askTimes(3, 'GET /channels/1/messages', ALICE);
    expect(statusesOf(asked)).toEqual([200, 200, 429]);
    const [other, of] = [await bare.ask('GET /channels/2/messages', ALICE), rateOf(asked[2])];
    expect(rateOf(other).remaining).toBe(1);
    expect(rateOf(other).bucket).not.toBe(of.bucket);
    expect(rateOf(await bare.ask('GET /channels/1/messages', BOB))).toMatchObject({
      remaining: 1,
      bucket: of.bucket,
    });
  });

  test.each([
    '/channels/%31/messages',
    '/channels/1/messages/',
    '/CHANNELS/1/Messages',
    '/channels/1/messages/7',
    '/channels/1/messages?id=2',
  ])('counts another spelling as the same value: %s', async path => {
    const bare = await bareGateway(limits);
    await bare.askTimes(2, 'GET /channels/1/messages', ALICE);
    expect((await bare.ask(`GET ${path}`, ALICE)).status).toBe(429);
  });

  test('refuses a value that is not UTF-8, and sends it nowhere', async () => {
    const bare = await bareGateway(limits);
    expect((await bare.ask('GET /channels/%C3%28/messages', ALICE)).status).toBe(400);
    expect(bare.requests).toEqual([]);
  });

  test('keeps a value of 8,000 characters apart from another', async () => {
    const bare = await bareGateway(limits);
    const long = 'a'.repeat(7_999);
    expect(statusesOf(await bare.askTimes(3, `GET /channels/${long}b/messages`, ALICE))).toEqual([
      200, 200, 429,
    ]);
    expect((await bare.ask(`GET /channels/${long}c/messages`, ALICE)).status).toBe(200);
  });

  test('has one hash for all values where clients add theirs themselves', async () => {
    const bare = await bareGateway({ ...limits, bucket_hash: 'route' });
    const [one, two] = [
      await bare.ask('GET /channels/1/messages', ALICE),
      await bare.ask('GET /channels/2/messages', ALICE),
    ];
    expect([rateOf(one).remaining, rateOf(two).remaining]).toEqual([1, 1]);
    expect(rateOf(one).bucket).toBe(rateOf(two).bucket);
  });
});

test.each([
  ['user where one line of the map names it', { one: { user: '1/60s' } }, ['GET /a'], 'user'],
  ['shared where several do', { one: { user: '1/60s' } }, ['GET /a', 'POST /a'], 'shared'],
  ['what it says itself', { one: { user: '1/60s', scope: 'user' } }, ['GET /a', 'POST /a'], 'user'],
])('the scope of a bucket is %s, and its lines draw on one quota', async (_, buckets, lines, scope) => {
  const bare = await bareGateway({ buckets, routes: Object.fromEntries(lines.map(line => [line, 'one'])) });
  const admitted = await bare.ask('GET /a', ALICE);
  const refused = await bare.ask(lines.at(-1) ?? '', ALICE);
  expect([rateOf(admitted).scope, rateOf(refused).scope]).toEqual([scope, scope]);
  expect(refusalOf(refused)['global']).toBe(false);
});

test('a bucket takes what the most exact line of the map names it for', async () => {
  const bare = await bareGateway({
    buckets: { one: { user: '9/60s' }, rest: { user: '7/60s' } },
    routes: { 'GET /a/{x}': 'one', '/a/**': 'rest' },
  });
  const limitOf = async (line: string) => rateOf(await bare.ask(line, ALICE)).limit;
  expect([await limitOf('GET /a/1'), await limitOf('GET /a/1/2'), await limitOf('DELETE /a/1')]).toEqual([
    9, 7, 7,
  ]);
  expect(rateFieldsOf(await bare.ask('GET /other', ALICE))).toEqual([]);
});

test('the limit of a resource counts all callers of one main value; its refusal is shared, and takes nothing from its caller', async () => {
  const bare = await bareGateway({
    buckets: { posts: { main: 'id', user: '10/60s', resource: '3/10s' } },
    routes: { '/rooms/{id}/posts': 'posts' },
  });
  await bare.askTimes(2, 'GET /rooms/1/posts', ALICE);
  const told = { limit: 10, remaining: 9, scope: 'user' };
  expect(rateOf(await bare.ask('GET /rooms/1/posts', BOB))).toMatchObject(told);
  const [refused] = await bare.askTimes(5, 'GET /rooms/1/posts', BOB);
  expect(rateOf(refused)).toMatchObject({ limit: 3, remaining: 0, scope: 'shared' });
  expect(refusalOf(refused)['global']).toBe(false);
  expect((await bare.ask('GET /rooms/2/posts', BOB)).status).toBe(200);
  bare.clock.advance(10_000);
  expect(rateOf(await bare.ask('GET /rooms/1/posts', BOB)).remaining).toBe(8);
});

describe('the class of a caller', () => {
  test('that has no number has that of users', async () => {
    const bare = await bareGateway({ buckets: { all: { user: '2/60s' } }, routes: { '/**': 'all' } });
    for (const [line, sending] of [
      ['GET /a', BOT],
      ['GET /open/a', {}],
      ['GET /a', ALICE],
    ] as const)
      expect(statusesOf(await bare.askTimes(3, line, sending))).toEqual([200, 200, 429]);
  });

  test('is that of its token where the route looks at it, else address', async () => {
    const bare = await bareGateway(
      { buckets: { all: { user: '5/60s', bot: '7/60s', address: '3/60s' } }, routes: { '/**': 'all' } },
      { routes: [{ path: '/maybe', authentication: 'optional' }] },
    );
    const told = async (line: string, sending: Sending = {}) => {
      const { limit, remaining } = rateOf(await bare.ask(line, sending));
      return [limit, remaining];
    };
    expect(await told('GET /open/a', ALICE)).toEqual([3, 2]);
    expect(await told('GET /maybe')).toEqual([3, 1]);
    expect(await told('GET /maybe', ALICE)).toEqual([5, 4]);
    expect(await told('GET /a', ALICE)).toEqual([5, 3]);
    expect(await told('GET /a', BOT)).toEqual([7, 6]);
  });
});

test('a smooth bucket admits a burst and then one request per part of its period', async () => {
  const bare = await bareGateway({
    buckets: { all: { user: '4/2s', algorithm: 'smooth' } },
    routes: { '/**': 'all' },
  });
  const responses = await bare.askTimes(5, 'GET /a', ALICE);
  expect(statusesOf(responses)).toEqual([200, 200, 200, 200, 429]);
  const wait = Number(refusalOf(responses[4])['retry_after']);
  expect(wait).toBeLessThanOrEqual(0.5);
  bare.clock.advance(wait * 1_000);
  expect(statusesOf(await bare.askTimes(2, 'GET /a', ALICE))).toEqual([200, 429]);
});

describe('the global limit', () => {
  const things = {
    buckets: { things: { main: 'id', user: '3/60s' } },
    routes: { 'GET /things/{id}': 'things' },
  };

  test('holds for all tokens of a principal together, and for each address without a token', async () => {
    const bare = await bareGateway({ ...things, global: { user: '2/60s', address: '3/60s' } });
    for (const jti of ['1', '2']) expect((await bare.ask('GET /a', { as: { jti } })).status).toBe(200);
    expect((await bare.ask('GET /b', { as: { jti: '3' } })).status).toBe(429);
    expect((await bare.ask('GET /b', BOB)).status).toBe(200);
    expect(statusesOf(await bare.askTimes(4, 'GET /open/a'))).toEqual([200, 200, 200, 429]);
    expect((await bare.ask('GET /open/a', { from: '192.0.2.9' })).status).toBe(200);
  });

  test('is exhausted without drawing on a bucket, and the other way round', async () => {
    const bare = await bareGateway({ ...things, global: { user: '4/2s' } });
    // The bucket refuses the fourth, which draws on nothing: one of the global limit's four is left.
    expect(statusesOf(await bare.askTimes(4, 'GET /things/1', ALICE))).toEqual([200, 200, 200, 429]);
    expect(statusesOf(await bare.askTimes(2, 'GET /other', ALICE))).toEqual([200, 429]);
    const refused = await bare.ask('GET /things/2', ALICE);
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    bare.clock.advance(Number(refusalOf(refused)['retry_after']) * 1_000);
    expect(rateOf(await bare.ask('GET /things/2', ALICE)).remaining).toBe(2);
  });

  test('does not hold on a route that is exempt', async () => {
    const routes = [{ path: '/free/**', global_limit: 'exempt' }];
    const bare = await bareGateway({ global: { user: '2/60s' } }, { routes });
    expect(statusesOf(await bare.askTimes(6, 'GET /free/a', ALICE))).toEqual(Array(6).fill(200));
  });

  test.each([
    ['a path without a route', 'GET /a', 404],
    ['a method that there is not', 'MADEUP /things/1', 405],
    ['an expectation', 'GET /things/1', 417],
  ])('counts what is refused before its limits: %s', async (_, line, status) => {
    const bare = await bareGateway(
      { ...things, global: { address: '2/60s', user: '1/60s' } },
      { config: { routes: [{ path: '/things/**', upstream: 'api' }] } },
    );
    const fields = status === 417 ? ['Expect', 'cake'] : [];
    expect(statusesOf(await bare.askTimes(3, line, { fields }))).toEqual([status, status, 429]);
    // A token that was never verified names no caller.
    expect((await bare.ask(line, { ...ALICE, fields })).status).toBe(429);
  });

  test('does not count what can be read in two ways', async () => {
    const bare = await bareGateway({ global: { address: '2/60s' } });
    expect(statusesOf(await bare.askTimes(5, 'GET /open//a'))).toEqual(Array(5).fill(400));
  });
});

describe('a request that its upstream has no room for', () => {
  const limits = {
    global: { user: '9/1m' },
    buckets: { things: { user: '2/1m' } },
    routes: { '/things': 'things' },
  };
  const start = () => bareGateway(limits, { api: { max_requests: 1 }, service: silence });

  test('draws on no limit, and takes the place of the one that leaves', async () => {
    const bare = await start();
    const held = bare.send('GET /a', BOB);
    const refused = await bare.askTimes(9, 'GET /things', ALICE);
    expect(statusesOf(refused)).toEqual(Array(9).fill(503));
    expect(refused.flatMap(rateFieldsOf)).toEqual(Array(9).fill('retry-after'));
    expect(bare.records.every(({ decision }) => decision === null)).toBe(true);
    // Only the one in flight was decided.
    expect(bare.told.filter(([event]) => event === 'decided')).toHaveLength(1);
    held.leave();
    bare.service = answering(200);
    expect(rateOf(await bare.ask('GET /things', ALICE)).remaining).toBe(1);
  });

  test('hears of its limits and its token first, where they refuse it', async () => {
    const bare = await start();
    bare.service = answering(200);
    await bare.askTimes(2, 'GET /things', ALICE);
    bare.service = silence;
    bare.send('GET /a', BOB);
    expect((await bare.ask('GET /a', ALICE)).status).toBe(503);
    refusalOf(await bare.ask('GET /things', ALICE));
    expect((await bare.ask('GET /things')).status).toBe(401);
  });

  test('names the cap that it met: of all, or of its caller', async () => {
    const bare = await bareGateway(
      {},
      { api: { max_requests: 2, max_requests_per_caller: '50%' }, service: silence },
    );
    bare.send('GET /a', ALICE);
    expect((await bare.ask('GET /a', ALICE)).status).toBe(503);
    bare.send('GET /a', BOB);
    expect((await bare.ask('GET /a', BOT)).status).toBe(503);
    expect(bare.records.map(({ error, upstream }) => [error?.cap, upstream])).toEqual([
      ['max_requests_per_caller', 'api'],
      ['max_requests', 'api'],
    ]);
  });
});

describe('the share of a caller in what an upstream takes', () => {
  const settings = { api: { max_requests: 8 }, service: silence };
  const statusAfter = async (api: ConfigPart, held: readonly Sending[], last: Sending): Promise<number> => {
    const bare = await bareGateway({}, { ...settings, api, config: { trusted_proxies: ['10.0.0.0/8'] } });
    for (const sending of held) bare.send('as' in sending ? 'GET /a' : 'GET /open/a', sending);
    bare.service = answering(200);
    return (await bare.ask('as' in last ? 'GET /a' : 'GET /open/a', last)).status;
  };
  const ONE: Sending = { from: '192.0.2.1' };
  const OTHER: Sending = { from: '192.0.2.2' };
  const behind = (address: string): Sending => ({ from: '10.0.0.1', fields: ['X-Forwarded-For', address] });

  test.each<[string, ConfigPart, readonly Sending[], Sending, number]>([
    ['a quarter by default', { max_requests: 8 }, [ONE], ONE, 200],
    ['no more than a quarter by default', { max_requests: 8 }, [ONE, ONE], ONE, 503],
    ['leaves the rest to others', { max_requests: 8 }, [ONE, ONE], OTHER, 200],
    ['what the upstream says', { max_requests: 2, max_requests_per_caller: '100%' }, [ONE], ONE, 200],
    ['all that there is', { max_requests: 2, max_requests_per_caller: '100%' }, [ONE, ONE], OTHER, 503],
    ['one at least', { max_requests: 3, max_requests_per_caller: '1%' }, [], ONE, 200],
    ['one and no more', { max_requests: 3, max_requests_per_caller: '1%' }, [ONE], ONE, 503],
    [
      'is that of its tokens together',
      { max_requests: 8 },
      [ALICE, { as: { jti: '2' }, ...OTHER }],
      ALICE,
      503,
    ],
    ['is not that of another caller there', { max_requests: 8 }, [ALICE, ALICE], BOB, 200],
    ['is not that of its address', { max_requests: 8 }, [ALICE, ALICE], ONE, 200],
    [
      'is that of the address behind a proxy',
      { max_requests: 8 },
      [behind('192.0.2.7'), behind('192.0.2.7')],
      behind('192.0.2.7'),
      503,
    ],
    [
      'is not that of the proxy',
      { max_requests: 8 },
      [behind('192.0.2.7'), behind('192.0.2.7')],
      behind('192.0.2.8'),
      200,
    ],
  ])('%s', async (_, api, held, last, status) => {
    expect(await statusAfter(api, held, last)).toBe(status);
  });
});

describe('past a cap on requests in flight a request is 503, and served when there is room', () => {
  test.each<[string, object, Sending, Sending, number]>([
    ['in all', { requests: 1 }, {}, { from: '192.0.2.9' }, 503],
    ['of one address', { requests_per_address: 1 }, {}, {}, 503],
    ['of one address, not of another', { requests_per_address: 1 }, {}, { from: '192.0.2.9' }, 200],
    [
      'of one network of IPv6',
      { requests_per_address: 1 },
      { from: '2001:db8:0:1::1' },
      { from: '2001:db8:0:1:ffff::2' },
      503,
    ],
    [
      'of one network of IPv6, not of another',
      { requests_per_address: 1 },
      { from: '2001:db8:0:1::1' },
      { from: '2001:db8:0:2::1' },
      200,
    ],
  ])('%s', async (_, caps, first, second, status) => {
    const bare = await bareGateway({}, { config: { caps }, service: silence });
    const held = bare.send('GET /open/a', first);
    bare.service = answering(200);
    const response = await bare.ask('GET /open/a', second);
    expect(response.status).toBe(status);
    if (status === 503) expect(fieldOf(response, 'retry-after')).toMatch(/^[1-9]\d*$/);
    held.leave();
    expect((await bare.ask('GET /open/a', second)).status).toBe(200);
  });
});
