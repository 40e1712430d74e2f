import { expect, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { askOnce, askTimes, type LimitedGateway, startLimited, statusesOf } from '../support/limits.ts';
import { tempText } from '../support/temp.ts';

const limits = {
  global: { user: '8/1h', address: '3/1h' },
  buckets: {
    things: { user: '2/1h', shadow: { user: '1/1h' } },
    channels: { main: 'id', user: '5/1h', resource: '1/1h' },
    slow: { user: '6/1h', algorithm: 'smooth', shadow: true, concurrent: 3 },
  },
  routes: { '/things': 'things', '/channels/{id}': 'channels', '/slow': 'slow' },
};

/** What is left, by what it counts: the limit, what is used of it, and whether it is in shadow. */
type Left = Readonly<Record<string, readonly [limit: number, used: number, shadow?: true]>>;

class Room {
  readonly front: LimitedGateway;
  readonly api: ApiClient;

  private constructor(front: LimitedGateway, api: ApiClient) {
    this.front = front;
    this.api = api;
  }

  static async start(given: ConfigPart = limits): Promise<Room> {
    const token_file = await tempText('admin-token', ADMIN_TOKEN);
    const config = { listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } } };
    const front = await startLimited(given, { config });
    return new Room(front, await ApiClient.of(front.gateway));
  }

  /** The query that names a caller of the issuer. */
  of(subject: string, more: Readonly<Record<string, string>> = {}): string {
    const client = String(this.front.issuer.claims()['azp']);
    return new URLSearchParams({ client, subject, ...more }).toString();
  }

  async ask(subject: string, target: string, times = 1): Promise<readonly number[]> {
    return statusesOf(await askTimes(this.front, times, target, this.front.issuer.bearer({ sub: subject })));
  }

  async left(query: string): Promise<Left> {
    const { body } = await this.api.call('GET', `/api/buckets?${query}`);
    const { limits } = body as { limits: Record<string, unknown>[] };
    return Object.fromEntries(
      limits.map(({ bucket, counts, limit, used, shadow }) => [
        `${bucket ?? ''}${bucket === null ? '' : ' '}${counts} ${limit}`,
        shadow === true ? [limit, used, true] : [limit, used],
      ]),
    ) as Left;
  }
}

test('/api/buckets shows why a caller is refused and gives it a fresh allowance', async () => {
  const room = await Room.start();
  expect(await room.ask('alice', 'GET /things', 3)).toEqual([200, 200, 429]);
  const asked = Date.now();
  const { body } = await room.api.call('GET', `/api/buckets?${room.of('alice', { bucket: 'things' })}`);
  expect(body).toEqual({
    countedIn: 'memory',
    address: null,
    caller: expect.stringMatching(/^[\w-]{22}$/),
    atOnce: [],
    needValue: [],
    limits: [
      {
        bucket: 'things',
        counts: 'caller',
        quota: '2/1h',
        algorithm: 'window',
        shadow: false,
        limit: 2,
        used: 2,
        remaining: 0,
        resetAt: expect.any(String),
        waitMs: expect.any(Number),
      },
      expect.objectContaining({ quota: '1/1h', shadow: true, used: 1 }),
    ],
  });
  const [{ resetAt, waitMs }] = (body as { limits: [{ resetAt: string; waitMs: number }] }).limits;
  expect(Date.parse(resetAt)).toBeGreaterThan(asked + 3_590_000);
  expect(waitMs).toBeGreaterThan(3_590_000);
  const reset = await room.api.call('DELETE', `/api/buckets?${room.of('alice', { bucket: 'things' })}`);
  expect(reset.body).toMatchObject({ countedIn: 'memory', global: false, buckets: ['things'] });
  // The global limit still knows of both.
  expect(await room.left(room.of('alice'))).toEqual({
    'global 8': [8, 2],
    'things caller 2': [2, 0],
    'things caller 1': [1, 0, true],
    'slow caller 6': [6, 0, true],
  });
  expect(await room.ask('alice', 'GET /things', 3)).toEqual([200, 200, 429]);
});

test('/api/buckets without a bucket resets all that is counted of one caller alone, and of no other', async () => {
  const room = await Room.start();
  for (const target of ['GET /things', 'GET /channels/7', 'GET /slow']) await room.ask('alice', target);
  await room.ask('bob', 'GET /things');
  await room.ask('bob', 'GET /channels/8');
  const { body } = await room.api.call('GET', `/api/buckets?${room.of('alice')}`);
  const atOnce = [{ bucket: 'slow', concurrent: 3, inFlight: 0, shadow: true }];
  expect(body).toMatchObject({ atOnce, needValue: ['channels'] });
  const reset = await room.api.call('DELETE', `/api/buckets?${room.of('alice')}`);
  expect(reset.body).toMatchObject({ global: true, buckets: ['things', 'channels', 'slow'] });
  expect(Object.values(await room.left(room.of('alice'))).map(([, used]) => used)).toEqual([0, 0, 0, 0]);
  // What she shares with others is still used up.
  const seven = { bucket: 'channels', value: '7' };
  expect(await room.left(room.of('alice', seven))).toEqual({
    'channels caller 5': [5, 0],
    'channels resource 1': [1, 1],
  });
  expect((await room.left(room.of('bob')))['global 8']).toEqual([8, 2]);
  expect(await room.ask('alice', 'GET /channels/7')).toEqual([429]);
  const shared = new URLSearchParams(seven);
  expect(await room.left(String(shared))).toEqual({ 'channels resource 1': [1, 1] });
  await room.api.call('DELETE', `/api/buckets?${shared}`);
  expect(await room.ask('alice', 'GET /channels/7')).toEqual([200]);
  expect(await room.ask('alice', 'GET /channels/8')).toEqual([429]);
});

test('/api/buckets knows addresses, and tells log and metrics who reset what', async () => {
  const room = await Room.start();
  for (let i = 0; i < 4; i++) await askOnce(room.front, 'GET /open/a');
  const query = 'address=127.0.0.1';
  expect((await room.left(query))['global 3']).toEqual([3, 3]);
  await room.api.call('DELETE', `/api/buckets?${query}`);
  expect((await askOnce(room.front, 'GET /open/a')).status).toBe(200);
  await room.api.call('DELETE', '/api/buckets?bucket=channels&value=7');
  const { gateway } = room.front;
  const lines = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'admin');
  const change = { change: 'buckets_reset', address: '127.0.0.1' };
  expect(lines).toEqual([
    expect.objectContaining({ ...change, client: '127.0.0.1', bucket: null }),
    expect.objectContaining({ ...change, client: null, bucket: 'channels' }),
  ]);
  const counted = await gateway.counted('weir_admin_changes_total');
  expect(counted).toEqual(new Map([['{change="buckets_reset"}', 2]]));
});

const WRONG: readonly (readonly [number, string])[] = [
  [400, ''],
  [400, 'bucket=channels'],
  [400, 'bucket=things'],
  [400, 'bucket=things&value=7'],
  [400, 'address=127.0.0.1&value=7'],
  [400, 'address=127.0.0.1&bucket=channels&value='],
  [400, 'address=127.0.0.1&buckets=channels'],
  [404, 'address=127.0.0.1&bucket=nowhere'],
];

test('/api/buckets wants a client, and a value where each is counted by itself', async () => {
  const { api } = await Room.start();
  for (const [status, query] of WRONG)
    for (const method of ['GET', 'DELETE'])
      expect((await api.call(method, `/api/buckets?${query}`)).status, `${method} ${query}`).toBe(status);
  const query = 'address=127.0.0.1&bucket=channels';
  expect((await api.call('GET', `/api/buckets?${query}`)).status).toBe(400);
  expect((await api.call('DELETE', `/api/buckets?${query}`)).status).toBe(200);
  expect((await api.call('DELETE', `/api/buckets?${query}`, { token: null })).status).toBe(401);
  expect((await api.call('GET', '/api/buckets?address=127.0.0.1', { token: null })).status).toBe(200);
});

test('/api/buckets knows the class of a caller, and what a group shares', async () => {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const config = { listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } } };
  const group = { claim: 'organization', limit: '3/1h' };
  const classes = { partner: { claim: 'plan' } };
  const front = await startLimited(
    {
      buckets: {
        exports: { user: '5/1h', classes: { partner: '9/1h' }, group },
        channels: { main: 'id', group },
      },
      routes: { '/exports': 'exports', '/channels/{id}': 'channels' },
    },
    { config, tokens: { classes } },
  );
  const api = await ApiClient.of(front.gateway);
  const bearer = (sub: string) => front.issuer.bearer({ sub, plan: 'partner', organization: 'acme' });
  for (const sub of ['a', 'b', 'c']) await askOnce(front, 'GET /exports', bearer(sub));
  await askOnce(front, 'GET /channels/7', bearer('a'));
  const limitsAt = async (query: string) => (await api.call('GET', `/api/buckets?${query}`)).body;
  const client = String(front.issuer.claims()['azp']);
  expect(await limitsAt(`client=${client}&subject=a&class=partner&bucket=exports`)).toMatchObject({
    limits: [{ counts: 'caller', limit: 9, used: 1 }],
  });
  expect(await limitsAt('bucket=exports&group=acme')).toMatchObject({
    ...{ address: null, caller: null },
    limits: [{ bucket: 'exports', counts: 'group', quota: '3/1h', used: 3, remaining: 0 }],
  });
  expect(await limitsAt('bucket=channels&group=acme&value=7')).toMatchObject({ limits: [{ used: 1 }] });
  expect(await limitsAt('bucket=channels&group=acme&value=8')).toMatchObject({ limits: [{ used: 0 }] });
  expect((await askOnce(front, 'GET /exports', bearer('d'))).status).toBe(429);
  expect((await api.call('DELETE', '/api/buckets?bucket=exports&group=acme')).status).toBe(200);
  expect((await askOnce(front, 'GET /exports', bearer('d'))).status).toBe(200);
  for (const query of [
    'bucket=exports&group=',
    'group=acme',
    'bucket=channels&group=acme',
    'bucket=exports&group=acme&subject=a',
    `client=${client}&subject=a&class=none`,
  ])
    expect((await api.call('GET', `/api/buckets?${query}`)).status, query).toBe(400);
});

test('/api/buckets shows each window of a list, a day with the midnight of its zone, and resets them together', async () => {
  const room = await Room.start({
    time_zone: 'Asia/Kathmandu',
    buckets: { plans: { user: ['2/1h', '5/day', { limit: '90/day', unit: 'cost' }] } },
    routes: { '/plans': { bucket: 'plans', cost: 30 } },
  });
  const windows = async () => {
    const { body } = await room.api.call('GET', `/api/buckets?${room.of('alice', { bucket: 'plans' })}`);
    const { limits } = body as { limits: Record<string, unknown>[] };
    return limits;
  };
  expect(await room.ask('alice', 'GET /plans', 3)).toEqual([200, 200, 429]);
  // Midnight there is 18:15 UTC.
  const resetAt = expect.stringMatching(/T18:15:00\.000Z$/);
  expect(await windows()).toMatchObject([
    { quota: '2/1h', limit: 2, used: 2, remaining: 0 },
    { quota: '5/day', limit: 5, used: 2, remaining: 3, resetAt },
    { quota: '90/day/cost', limit: 90, used: 60, remaining: 30, resetAt },
  ]);
  const { body: status } = await room.api.call('GET', '/status.json');
  expect(JSON.stringify(status)).toContain('"quota":"90/day/cost"');
  await room.api.call('DELETE', `/api/buckets?${room.of('alice', { bucket: 'plans' })}`);
  expect((await windows()).map(({ used }) => used)).toEqual([0, 0, 0]);
});
