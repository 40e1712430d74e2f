import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DecidedBy } from '../../src/core/index.ts';
import {
  ClaimedLimits,
  groupCounterKey,
  MAX_COUNT,
  MemoryStore,
  OTHER_PARTS,
  parseQuota,
} from '../../src/limits/index.ts';
import { RedisError, type ReplyCallback } from '../../src/limits/redis/connection/redis-connection.ts';
import type { RedisStore } from '../../src/limits/redis/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { limit, limits, newStore, windowIn } from '../unit/limits/stores.ts';
import { deafListener, storeOn } from './parts.ts';
import { LONGER_MS, TimedRunner } from './timed-runner.ts';

let server: RedisServer;
let runner: TimedRunner;
let store: RedisStore;
/** Counts for this machine. */
let local: MemoryStore;
let decidedBy: DecidedBy[];
let prefixes = 0;
const clock = { epochMs: () => 0, monotonicMs: () => runner.nowMs };

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());
beforeEach(async () => {
  runner = new TimedRunner(server.client, `s${prefixes++}:`, false);
  await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
  runner.nowMs = 1_000_000_000;
  decidedBy = [];
  const listener = { ...deafListener, decidedBy: (who: DecidedBy) => void decidedBy.push(who) };
  local = new MemoryStore({ clock, randomBytes, maxKeys: 100 });
  store = storeOn(runner, { local, listener, keysPerCaller: 2 }, clock);
});

const own = limit('3/5s', { main: 'channel_id' });

test('keys hold role, algorithm and period, and expire after their window', async () => {
  const time = async () => {
    const [seconds, micros] = await server.client.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  };
  const before = await time();
  await store.decide(
    limits({
      global: limit('6/1s', { role: 'global', bucket: '' }),
      caller: own,
      resource: limit('4/10s', { role: 'resource', main: 'channel_id', algorithm: 'smooth' }),
    }),
    'user:a',
    'c1',
  );
  const after = await time();
  const keys = (await server.client.keys(`${runner.prefix}*`))
    .map(key => key.replace(runner.prefix, ''))
    .sort();
  const hash = '[\\w-]{22}';
  for (const key of keys) {
    expect(key).toMatch(
      new RegExp(
        `^(\\{${hash}\\}(caller:window:5000:[\\w-]{11}:${hash}|global:window:1000:[\\w-]{11}|parts)|\\{resource:smooth:10000:[\\w-]{11}:${hash}\\})$`,
      ),
    );
    // Whenever a busy machine asks.
    const askedAt = await time();
    const ttl = (await server.client.pttl(runner.prefix + key)) - LONGER_MS;
    expect((await time()) + ttl - before).toBeGreaterThan(900);
    expect(askedAt + ttl - after).toBeLessThanOrEqual(11_000);
  }
  expect(keys).toHaveLength(4);
});

test('the same main value of another bucket, algorithm or period is another key', async () => {
  const others = [
    own,
    limit('3/5s', { main: 'channel_id', bucket: 'other' }),
    limit('3/5s', { main: 'channel_id', algorithm: 'smooth' }),
    limit('3/6s', { main: 'channel_id' }),
    limit('3/5s', { main: 'guild_id' }),
  ];
  const wide = storeOn(runner, {}, clock);
  for (const each of others)
    expect(await wide.decide(limits({ caller: each }), 'user:a', 'c1')).toMatchObject({ remaining: 2 });
});

describe('a caller with too many main values', () => {
  const set = limits({ caller: own });

  test('has one further key for all that follow, which is counted, and keeps those it has', async () => {
    const remaining = [];
    for (const main of ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c1'])
      remaining.push((await store.decide(set, 'user:a', main)).remaining);
    expect(remaining).toEqual([2, 2, 2, 1, 0, 0, 1]);
    expect(local.counts.callerOverflows).toBe(4);
    expect(await store.decide(set, 'user:b', 'c3')).toMatchObject({ admitted: true, remaining: 2 });
  });

  test('is asked for each of them: what is refused for one says nothing of another', async () => {
    for (const main of ['c1', 'c2', 'c3', 'c3', 'c3', 'c3', 'c3']) await store.decide(set, 'user:a', main);
    expect(decidedBy).toEqual(Array(7).fill('redis'));
  });

  test('may have new keys when the old ones are over, and more when told so', async () => {
    for (const main of ['c1', 'c2']) await store.decide(set, 'user:a', main);
    store.keysPerCaller = 3;
    expect(await store.decide(set, 'user:a', 'c3')).toMatchObject({ remaining: 2 });
    expect(await store.decide(set, 'user:a', 'c4')).toMatchObject({ remaining: 2 });
    expect(await store.decide(set, 'user:a', 'c5')).toMatchObject({ remaining: 1 });
    runner.nowMs += 5_000;
    expect(await store.decide(set, 'user:a', 'c6')).toMatchObject({ remaining: 2 });
    expect(await store.decide(set, 'user:a', 'c7')).toMatchObject({ remaining: 2 });
    expect(local.counts.callerOverflows).toBe(2);
  });
});

describe.each([
  ['in one Redis', false],
  ['in a cluster', true],
])('a caller that opens too many resources %s', (_where, isCluster) => {
  const resource = limit('2/60s', { role: 'resource', main: 'm' });
  const plenty = limit('9/60s', { main: 'm' });
  const set = limits({ resource });
  let held: RedisStore;

  beforeEach(async () => {
    runner = new TimedRunner(server.client, `r${prefixes++}:`, isCluster);
    for (const script of [DECIDE, HOLD, REFUND]) await runner.load(script);
    runner.nowMs = 1_000_000_000;
    held = storeOn(runner, { local, keysPerCaller: 3 }, clock);
    for (const main of ['c1', 'c2', 'c3']) await held.decide(set, 'user:a', main);
  });

  test('has one further counter of its own, whose refusals it shares with nobody', async () => {
    expect(await held.decide(set, 'user:a', 'c4')).toMatchObject({
      admitted: true,
      remaining: 1,
      drawn: [],
    });
    expect(await held.peek(set, 'user:a', 'c5')).toMatchObject({ admitted: true, remaining: 1 });
    expect(await held.decide(set, 'user:a', 'c5')).toMatchObject({ admitted: true, remaining: 0 });
    const refused = { admitted: false, role: 'resource', sharedKey: false, otherParts: true };
    expect(await held.decide(set, 'user:a', 'c6')).toMatchObject(refused);
    expect(await held.decide(set, 'user:b', 'c6')).toMatchObject({ admitted: true, remaining: 1 });
    expect(local.counts.callerOverflows).toBe(4);
  });

  test('keeps those that it holds, and still draws on what others have opened', async () => {
    await held.decide(set, 'user:b', 'c4');
    expect(await held.decide(set, 'user:a', 'c1')).toMatchObject({ admitted: true, remaining: 0 });
    expect(await held.decide(set, 'user:a', 'c4')).toMatchObject({ admitted: true, remaining: 0 });
    expect(await held.decide(set, 'user:a', 'c4')).toMatchObject({ admitted: false, sharedKey: true });
  });

  test('may open more when the windows are over', async () => {
    runner.nowMs += 60_000;
    for (const main of ['c4', 'c5', 'c6'])
      expect(await held.decide(set, 'user:a', main)).toMatchObject({ admitted: true, remaining: 1 });
    expect(local.counts.callerOverflows).toBe(0);
  });

  test('makes no more keys in Redis than it may, with one for further values', async () => {
    for (let i = 0; i < 20; i++) await held.decide(limits({ resource, caller: plenty }), 'user:a', `x${i}`);
    const counters = (await server.client.keys(`${runner.prefix}*`)).filter(key => !key.endsWith('parts'));
    expect(counters).toHaveLength(5);
  });

  test('gets back what it drew on its own limit when the counter for further values refuses', async () => {
    for (let i = 0; i < 2; i++) await held.decide(set, 'user:a', 'c4');
    const both = limits({ resource, caller: limit('3/60s', { bucket: 'other' }) });
    for (let i = 0; i < 5; i++)
      expect(await held.decide(both, 'user:a', 'c5')).toMatchObject({ admitted: false, role: 'resource' });
    const own = limits({ caller: both.caller });
    expect(await held.peek(own, 'user:a', '')).toMatchObject({ remaining: 3 });
  });

  test('gives its group back what it drew when the limit of the resource refuses', async () => {
    const group = limit('3/60s', { role: 'group', main: 'm', claim: 'organization' });
    const both = limits({ group, resource });
    const left = async (main: string) => {
      let admitted = 0;
      while ((await held.decide(limits({ group }), 'user:z', main, 'acme')).admitted) admitted++;
      return admitted;
    };
    for (let i = 0; i < 3; i++) await held.decide(both, 'user:b', 'shared', 'acme');
    expect(await left('shared')).toBe(1);
    // Both draw on counters of the caller's further values here, of which nothing is left but a unit of the group.
    for (let i = 0; i < 5; i++) await held.decide(both, 'user:a', `c${i + 5}`, 'acme');
    const ofGroup = await held.decide(limits({ group }), 'user:a', 'c9', 'acme');
    expect(ofGroup).toMatchObject({ admitted: true, drawn: [] });
    expect(await held.decide(limits({ group }), 'user:a', 'c9', 'acme')).toMatchObject({
      ...{ admitted: false, role: 'group', sharedKey: false, otherParts: true },
    });
    expect(await left('c9')).toBe(3);
  });
});

describe('in a cluster, a request that a shared limit refuses after another gave', () => {
  const group = limit('1/60s', { role: 'group', main: 'm', claim: 'organization' });
  let inCluster: RedisStore;

  beforeEach(async () => {
    runner = new TimedRunner(server.client, `u${prefixes++}:`, true);
    for (const script of [DECIDE, HOLD, REFUND]) await runner.load(script);
    runner.nowMs = 1_000_000_000;
    inCluster = storeOn(runner, { local }, clock);
    await inCluster.decide(limits({ group }), 'user:z', '', 'acme');
  });

  test('a price is drawn of the counter that the request drew on, its own or that of further main values', async () => {
    const options = { main: 'm', hasCostQuota: true, isPriced: true } as const;
    const caller = limit('100/60s', { ...options, quota: { ...parseQuota('100/60s'), unit: 'cost' } });
    const of = { local, keysPerCaller: 1 };
    const few = storeOn(runner, of, clock);
    const decide = (main: string) => few.decide(limits({ caller }), 'user:p', main, '', 10);
    const left = async (main: string) =>
      (await few.peek(limits({ caller }), 'user:p', main, '', 1)).remaining;
    const [own, others] = [await decide('one'), await decide('two')];
    const [drawn, drawnOfOthers] = [own.drawn[0], others.drawn[0]];
    expect([drawn?.standIn, drawnOfOthers?.standIn]).toEqual([undefined, null]);
    few.refund(caller, 'one', drawn?.window ?? 0, -25, 'user:p');
    few.refund(caller, OTHER_PARTS, drawnOfOthers?.window ?? 0, -500, 'user:p');
    expect([await left('one'), await left('three')]).toEqual([65, 0]);
    expect((await decide('four')).admitted).toBe(false);
    few.refund(caller, OTHER_PARTS, drawnOfOthers?.window ?? 0, 470, 'user:p');
    expect(await left('five')).toBe(60);
  });

  test('a count beyond what can be kept stays until the Reset, as in memory', async () => {
    const options = { hasCostQuota: true, isPriced: true } as const;
    const caller = limit('100/60s', { ...options, quota: { ...parseQuota('100/60s'), unit: 'cost' } });
    const decide = () => inCluster.decide(limits({ caller }), 'user:p', '', '', 10);
    const window = (await decide()).drawn[0]?.window ?? 0;
    inCluster.refund(caller, '', window, -MAX_COUNT, 'user:p');
    inCluster.refund(caller, '', window, MAX_COUNT, 'user:p');
    expect((await decide()).admitted).toBe(false);
  });

  test('leaves what a lower cost may still take of the window that it would have ended', async () => {
    const caller = limit('3/5s', { largestCost: 2, windowSlackMs: 20 });
    await inCluster.decide(limits({ caller }), 'user:a', '', '', 2);
    runner.nowMs += 4_990;
    const refused = await inCluster.decide(limits({ caller, group }), 'user:a', '', 'acme', 2);
    expect(refused).toMatchObject({ admitted: false, role: 'group' });
    const left = await inCluster.peek(limits({ caller }), 'user:a', '');
    expect(left).toMatchObject({ remaining: 1, resetAfterMs: 10 });
  });

  test('leaves the window open that was open before, though all of it was returned', async () => {
    const role = { main: 'm', claim: 'organization' } as const;
    const shared = limit('5/60s', { ...role, role: 'group', bucket: 'other' });
    const resource = limit('1/60s', { role: 'resource', main: 'm' });
    await inCluster.decide(limits({ resource }), 'user:z', 'c1');
    const ask = (set = limits({ group: shared })) => inCluster.decide(set, 'user:a', 'c1', 'acme');
    const groupWindow = windowIn(await ask(), 'group');
    inCluster.refund(shared, groupCounterKey('acme', 'c1'), groupWindow);
    runner.nowMs += 2_000;
    expect(await ask(limits({ group: shared, resource }))).toMatchObject({ role: 'resource' });
    expect(windowIn(await ask(), 'group')).toBe(groupWindow);
  });

  test('takes no place among the main values that its caller may hold', async () => {
    const few = storeOn(runner, { local, keysPerCaller: 2 }, clock);
    const caller = limit('3/5s', { main: 'm' });
    const refusing = limits({ caller, group });
    for (const main of ['c1', 'c2', 'c3']) {
      await inCluster.decide(limits({ group }), 'user:z', main, 'acme');
      expect(await few.decide(refusing, 'user:a', main, 'acme')).toMatchObject({ role: 'group' });
    }
    for (const main of ['c4', 'c5'])
      expect(await few.decide(limits({ caller }), 'user:a', main)).toMatchObject({ remaining: 2 });
    expect(local.counts.callerOverflows).toBe(0);
  });

  test.each(['window', 'smooth'] as const)(
    'takes no such place with another at the same moment, whichever of them opened the counter (%s)',
    async algorithm => {
      const few = storeOn(runner, { local, keysPerCaller: 2 }, clock);
      const caller = limit('3/6s', { main: 'm', algorithm });
      for (const main of ['c1', 'c2']) {
        await inCluster.decide(limits({ group }), 'user:z', main, 'acme');
        const both = await Promise.all(
          [few, inCluster].map(each => each.decide(limits({ caller, group }), 'user:a', main, 'acme')),
        );
        expect(both.map(({ role }) => role)).toEqual(['group', 'group']);
      }
      for (const main of ['c3', 'c4'])
        expect(await few.decide(limits({ caller }), 'user:a', main)).toMatchObject({ remaining: 2 });
      expect(local.counts.callerOverflows).toBe(0);
    },
  );

  test('gives nothing of a window that was used up, however many were undone in the one after it', async () => {
    const caller = limit('3/5s', { windowSlackMs: 20 });
    for (let i = 0; i < 3; i++) await inCluster.decide(limits({ caller }), 'user:a', '');
    runner.nowMs += 4_990;
    const both = limits({ caller, group });
    await Promise.all([1, 2].map(() => inCluster.decide(both, 'user:a', '', 'acme')));
    const left = await inCluster.peek(limits({ caller }), 'user:a', '');
    expect(left).toMatchObject({ remaining: 0, resetAfterMs: 10 });
  });

  test('keeps its main value for no longer than the window that it would have ended', async () => {
    const few = storeOn(runner, { local, keysPerCaller: 2 }, clock);
    const caller = limit('3/5s', { main: 'm', windowSlackMs: 20 });
    await inCluster.decide(limits({ group }), 'user:z', 'c1', 'acme');
    for (let i = 0; i < 3; i++) await few.decide(limits({ caller }), 'user:a', 'c1');
    runner.nowMs += 4_990;
    const refused = await few.decide(limits({ caller, group }), 'user:a', 'c1', 'acme');
    expect(refused).toMatchObject({ role: 'group' });
    runner.nowMs += 10;
    for (const main of ['c2', 'c3'])
      expect(await few.decide(limits({ caller }), 'user:a', main)).toMatchObject({ remaining: 2 });
    expect(local.counts.callerOverflows).toBe(0);
  });

  test('gets back what a limit in shadow gave by a counter of its own, where the one that holds has none left', async () => {
    const few = storeOn(runner, { local, keysPerCaller: 2 }, clock);
    const caller = limit('3/5s', { main: 'm' });
    const tried = limit('3/60s', { main: 'm' });
    const set = limits({ caller, shadow: limits({ caller: tried }) });
    await few.decide(set, 'user:a', 'c1');
    runner.nowMs += 6_000;
    await few.decide(limits({ caller }), 'user:a', 'c2');
    await inCluster.decide(limits({ group }), 'user:z', 'c1', 'acme');
    for (let i = 0; i < 2; i++)
      expect(await few.decide({ ...set, group }, 'user:a', 'c1', 'acme')).toMatchObject({ role: 'group' });
    expect(await few.peek(limits({ caller: tried }), 'user:a', 'c1')).toMatchObject({ remaining: 2 });
  });

  test('leaves the Reset that a smooth group has announced, units of which were returned', async () => {
    const role = { role: 'group', main: 'm', claim: 'organization' } as const;
    const smooth = limit('3/6s', { ...role, algorithm: 'smooth', largestCost: 3 });
    const ofGroup = limits({ group: smooth });
    const resource = limit('1/60s', { role: 'resource', main: 'm' });
    await inCluster.decide(limits({ resource }), 'user:z', 'c1');
    const ask = (cost: number, set = ofGroup) => inCluster.decide(set, 'user:a', 'c1', 'acme', cost);
    await ask(1);
    const groupWindow = windowIn(await ask(1), 'group');
    inCluster.refund(smooth, groupCounterKey('acme', 'c1'), groupWindow);
    const refused = await ask(3);
    expect(refused).toMatchObject({ admitted: false, role: 'group', resetAfterMs: 4_000 });
    expect(await ask(1, limits({ ...ofGroup, resource }))).toMatchObject({ role: 'resource' });
    expect(await ask(3)).toEqual(refused);
  });
});

const roles = { main: 'm', bucket: 'b' } as const;
const caller = limit('2/5s', roles);
const resource = limit('3/7s', { ...roles, role: 'resource' });
const smoothResource = limit('3/9s', { ...roles, role: 'resource', algorithm: 'smooth' });
const group = limit('4/7s', { ...roles, role: 'group', claim: 'organization' });

test.each([
  [
    'resources',
    [
      limits({ resource }),
      limits({ caller, resource }),
      limits({ caller, resource: smoothResource }),
      limits({ caller, shadow: limits({ resource }) }),
    ],
  ],
  [
    'groups',
    [
      limits({ resource }),
      limits({ caller, group }),
      limits({ caller, group, resource }),
      limits({ caller, shadow: limits({ group, resource }) }),
    ],
  ],
])(
  'callers with more main values of %s than they may hold are decided about as in memory',
  async (_, sets) => {
    const frozen = new FrozenClock();
    const memory = newStore(frozen, { keysPerCaller: 4 });
    runner.nowMs = Math.floor(frozen.monotonicMs());
    const redis = storeOn(runner, { keysPerCaller: 4 }, clock);
    let shared = 0;
    for (let i = 0; i < 500; i++) {
      const set = sets[(i * 7) % 4] ?? limits({});
      const who = `user:${(i * 13) % 3}`;
      const main = `m${(i * 31 + (i >> 3)) % 11}`;
      const organization = `org${(i >> 1) % 2}`;
      memory.sweep();
      const { resetAtMs: _, decidedAtMs: __, ...expected } = memory.decide(set, who, main, organization);
      expect(await redis.decide(set, who, main, organization), `call ${i}`).toMatchObject(expected);
      if (expected.otherParts) shared++;
      if (i % 5 === 0) frozen.advance((i * 17) % 1_900);
      runner.nowMs = Math.floor(frozen.monotonicMs());
    }
    expect(shared).toBeGreaterThan(16);
  },
);

test('the counter of a group without a main value is like that in memory, and nobody holds it', async () => {
  const frozen = new FrozenClock();
  const memory = newStore(frozen);
  runner.nowMs = Math.floor(frozen.monotonicMs());
  const redis = storeOn(runner, {}, clock);
  const set = limits({
    caller: limit('3/5s'),
    group: limit('4/5s', { role: 'group', claim: 'organization' }),
  });
  for (let i = 0; i < 300; i++) {
    const [who, organization] = [`user:${(i * 13) % 5}`, `org${i % 3 === 0}`];
    const { resetAtMs: _, decidedAtMs: __, ...expected } = memory.decide(set, who, '', organization);
    expect(await redis.decide(set, who, '', organization), `call ${i}`).toMatchObject(expected);
    if (i % 5 === 0) frozen.advance((i * 17) % 1_900);
    runner.nowMs = Math.floor(frozen.monotonicMs());
  }
  expect(await server.client.keys(`${runner.prefix}*parts`)).toEqual([]);
});

test.each(['window', 'smooth'] as const)(
  'a caller whose tokens say different numbers and groups has one %s counter, as in memory',
  async algorithm => {
    const frozen = new FrozenClock();
    const memory = newStore(frozen);
    runner.nowMs = Math.floor(frozen.monotonicMs());
    const redis = storeOn(runner, {}, clock);
    const quota = { units: 3, periodMs: 5_000, claim: 'rate', maxUnits: 9 };
    const limitOf = (isTrial: boolean) => limit('1/1s', { quota, algorithm, isTrial, largestCost: 2 });
    const set = limits({
      caller: limitOf(false),
      group: limit('5/5s', { role: 'group', claim: 'org', algorithm, largestCost: 2 }),
      shadow: limits({ caller: limitOf(true) }),
    });
    const claimed = new ClaimedLimits('org');
    const refused = new Set<string | null>();
    for (let i = 0; i < 600; i++) {
      const rate = [1, 2, 5, 9, 40][(i * 7 + (i >> 4)) % 6];
      const values = {
        numbers: new Map(rate === undefined ? [] : [['rate', rate]]),
        groups: new Map(i % 5 === 0 ? [] : [['org', `org${i % 2}`]]),
      };
      const asked = [
        ...([claimed.of(set, values), `user:${(i * 13) % 3}`, ''] as const),
        claimed.groupOf(values),
        1 + (i % 2),
      ] as const;
      const { resetAtMs: _, decidedAtMs: __, ...expected } = memory.decide(...asked);
      expect(await redis.decide(...asked), `call ${i}`).toMatchObject(expected);
      if (!expected.admitted) refused.add(expected.role);
      if (i % 3 === 0) frozen.advance((i * 17) % 1_900);
      runner.nowMs = Math.floor(frozen.monotonicMs());
    }
    expect(refused).toEqual(new Set(['caller', 'group']));
  },
);

describe('a clock of Redis that steps back an hour', () => {
  test.each(['window', 'smooth'] as const)(
    'locks nobody out of a %s for longer than its period',
    async algorithm => {
      const set = limits({ caller: limit('2/10s', { algorithm }) });
      for (let i = 0; i < 3; i++) await store.decide(set, 'user:a', '');
      runner.nowMs -= 3_600_000;
      store = storeOn(runner, {}, clock);
      const refused = await store.decide(set, 'user:a', '');
      expect(refused.admitted).toBe(false);
      expect(refused.resetAfterMs).toBe(10_000);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(10_000);
      runner.nowMs += 10_000;
      expect(await store.decide(set, 'user:a', '')).toMatchObject({ admitted: true });
    },
  );
});

describe('a refusal that is known', () => {
  const set = limits({ caller: limit('1/10s') });
  const ask = async (asked = set) => (await store.decide(asked, 'user:a', '')).admitted;
  beforeEach(async () => {
    await ask();
    await ask();
    decidedBy.length = 0;
  });

  test('is told without asking Redis, at once, with what is left of the wait', () => {
    runner.nowMs += 400;
    const told = store.decide(set, 'user:a', '');
    expect(told).toMatchObject({ admitted: false, limit: 1, remaining: 0, resetAtMs: 1_000_010_000 });
    expect(told).toMatchObject({ resetAfterMs: 9_600, retryAfterMs: 9_600 });
    expect(decidedBy).toEqual(['known_refusal']);
  });

  test('is asked for again after a second, so that a reset is noticed', async () => {
    await server.client.del(await server.client.keys(`${runner.prefix}*`));
    runner.nowMs += 999;
    expect(await ask()).toBe(false);
    runner.nowMs += 1;
    expect(await ask()).toBe(true);
  });

  test('is void after forgetRefusals, also when its response was on the way then', async () => {
    runner.nowMs += 1_000;
    const onTheWay = ask();
    store.forgetRefusals();
    await onTheWay;
    decidedBy.length = 0;
    await ask();
    expect(decidedBy).toEqual(['redis']);
  });

  test('is void for a limit with another number', async () => {
    expect(await ask(limits({ caller: limit('2/10s') }))).toBe(true);
  });

  test('belongs to no other caller', async () => {
    expect(await store.decide(set, 'user:b', '')).toMatchObject({ admitted: true });
  });

  test('ends no later than the key is free again', async () => {
    runner.nowMs += 10_000 - 20;
    expect(await ask()).toBe(true);
  });

  test('of a resource is never remembered', async () => {
    const shared = limits({ resource: limit('1/10s', { role: 'resource', main: 'm' }) });
    for (let i = 0; i < 3; i++) await store.decide(shared, 'user:a', 'x');
    expect(decidedBy).toEqual(['redis', 'redis', 'redis']);
  });
});

test('a smooth limit of many a second is refused and free again when memory says so', async () => {
  const frozen = new FrozenClock();
  runner.nowMs = Math.floor(frozen.monotonicMs());
  const memory = newStore(frozen);
  const set = limits({ caller: limit('900/1s', { algorithm: 'smooth' }) });
  let refused = 0;
  // One that has refused remembers it for a moment, so each that is asked afterwards is new.
  const compare = async (redis = storeOn(runner, {}, clock)): Promise<void> => {
    const { resetAtMs: _, decidedAtMs: __, ...expected } = memory.decide(set, 'user:a', '');
    expect(await redis.decide(set, 'user:a', '')).toMatchObject(expected);
    if (!expected.admitted) refused++;
  };
  const first = storeOn(runner, {}, clock);
  for (let i = 0; i < 900; i++) await compare(first);
  for (let i = 0; i < 2; i++) await compare();
  for (let i = 0; i < 20; i++) {
    frozen.advance(1);
    runner.nowMs = Math.floor(frozen.monotonicMs());
    await compare();
    await compare();
  }
  expect(refused).toBeGreaterThan(10);
});

test('requests whose question fails are each decided by themselves', async () => {
  const failing = {
    isCluster: false,
    prefix: 'none:',
    run: (_script: unknown, _keys: unknown, _args: unknown, reply: ReplyCallback) =>
      queueMicrotask(() => reply(new RedisError('timeout', 'late'), null)),
  };
  const failures: string[] = [];
  const health = {
    isShared: true,
    failed: ({ failure }: RedisError) => failures.push(failure),
    mention() {},
  };
  store = storeOn(failing, { health, replicas: () => 2 });
  const set = limits({ caller: limit('6/10s') });
  const decisions = await Promise.all(Array.from({ length: 4 }, () => store.decide(set, 'user:a', '')));
  expect(decisions.map(({ admitted, limit: units, remaining }) => [admitted, units, remaining])).toEqual([
    [true, 3, 2],
    [true, 3, 1],
    [true, 3, 0],
    [false, 3, 0],
  ]);
  expect(failures).toEqual(Array(4).fill('timeout'));
});

test('a unit of a resource that was drawn locally goes back there', async () => {
  store = storeOn(runner, { health: { isShared: false, failed() {}, mention() {} } });
  const resource = limit('2/10s', { role: 'resource', main: 'm' });
  const set = limits({ resource });
  const resourceWindow = windowIn(await store.decide(set, 'user:a', 'x'), 'resource');
  store.refund(resource, 'x', resourceWindow);
  expect(await store.peek(set, 'user:a', 'x')).toMatchObject({ remaining: 2 });
  expect(await server.client.keys(`${runner.prefix}*`)).toEqual([]);
});

test('a value that somebody else wrote counts as none', async () => {
  const set = limits({ caller: limit('2/10s') });
  await store.decide(set, 'user:a', '');
  const [key = ''] = await server.client.keys(`${runner.prefix}*`);
  await server.client.set(key, 'not a counter');
  expect(await store.decide(set, 'user:a', '')).toMatchObject({ admitted: true, remaining: 1 });
});

test('a request without limits does not ask Redis', () => {
  expect(store.decide(limits({}), 'user:a', '')).toMatchObject({ admitted: true, role: null });
  expect(decidedBy).toEqual([]);
});
