import { describe, expect, test } from 'vitest';
import { bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { GLOBAL_FIELDS, rateFieldsOf, rateOf, refusalOf, statusesOf } from '../../../support/rate-fields.ts';

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
