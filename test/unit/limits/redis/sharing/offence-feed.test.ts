import { beforeEach, expect, test } from 'vitest';
import { parseQuota, type Restricted } from '../../../../../src/limits/index.ts';
import { RedisError, RedisOffenceFeed } from '../../../../../src/limits/redis/index.ts';
import { FrozenClock } from '../../frozen-clock.ts';

let clock: FrozenClock;
let isShared: boolean;
/** Key, events and seconds of each command. */
let sent: [string, number, number][];
let failure: RedisError | null;
let counts: Map<string, number>;
let exceeded: string[];
let mentioned: number;

beforeEach(() => {
  clock = new FrozenClock();
  isShared = true;
  sent = [];
  failure = null;
  counts = new Map();
  exceeded = [];
  mentioned = 0;
});

/** Redis as the counters see it. */
const connection = {
  prefix: 'p:',
  async script(
    _script: unknown,
    [key = '']: readonly string[],
    events: string | number,
    seconds: string | number,
  ) {
    if (failure !== null) throw failure;
    sent.push([key, Number(events), Number(seconds)]);
    counts.set(key, (counts.get(key) ?? 0) + Number(events));
    return [counts.get(key), 1_000];
  },
};

function newFeed(): RedisOffenceFeed {
  const health = {
    get isShared() {
      return isShared;
    },
    mention: () => void mentioned++,
  };
  return new RedisOffenceFeed({
    connection: {
      ...connection,
      script: (script, keys, a = '', b = '') => connection.script(script, keys, a, b),
    },
    health,
    clock,
    exceeded: offence => void exceeded.push(offence.key),
  });
}

const rule = { quota: parseQuota('8/1m'), restrictForMs: 5_000 };
const by = (key: string): Restricted => ({ kind: 'address', key, webhook: '', reason: 'invalid_requests' });

function times(count: number, act: () => void): void {
  for (let i = 0; i < count; i++) act();
}

test('however many one offender commits, a batch is one command for each offender', async () => {
  const feed = newFeed();
  times(5_000, () => feed.note(by('192.0.2.1'), { ...rule, quota: parseQuota('9999/1m') }));
  feed.note(by('192.0.2.2'), rule);
  await feed.flush();
  expect(sent.map(([, events, seconds]) => [events, seconds])).toEqual([
    [5_000, 60],
    [1, 60],
  ]);
  await feed.flush();
  expect(sent).toHaveLength(2);
});

test('keys name no offender', async () => {
  const feed = newFeed();
  feed.note(by('192.0.2.1'), rule);
  await feed.flush();
  expect(sent[0]?.[0]).toMatch(/^p:invalid_requests:60000:[\w-]{22}$/);
});

test('the first offence beyond the tolerated number is reported, and none before', async () => {
  const feed = newFeed();
  times(8, () => feed.note(by('192.0.2.1'), rule));
  await feed.flush();
  expect(exceeded).toEqual([]);
  feed.note(by('192.0.2.1'), rule);
  await feed.flush();
  expect(exceeded).toEqual(['192.0.2.1']);
});

test('nothing is sent while Redis is away, and what was gathered is sent on its return', async () => {
  const feed = newFeed();
  isShared = false;
  times(3, () => feed.note(by('192.0.2.1'), rule));
  await feed.flush();
  expect(sent).toEqual([]);
  isShared = true;
  await feed.flush();
  expect(sent.map(([, events]) => events)).toEqual([3]);
});

test('offences older than their window are no longer counted', async () => {
  const feed = newFeed();
  isShared = false;
  times(3, () => feed.note(by('192.0.2.1'), rule));
  times(3, () => feed.note(by('192.0.2.2'), rule));
  clock.advance(60_000);
  feed.note(by('192.0.2.2'), rule);
  isShared = true;
  await feed.flush();
  expect(sent.map(([, events]) => events)).toEqual([1]);
});

test('a batch that was not sent is sent again, but not one without a timely reply, which may have been counted', async () => {
  const feed = newFeed();
  feed.note(by('192.0.2.1'), rule);
  failure = new RedisError('disconnected', 'gone');
  await feed.flush();
  feed.note(by('192.0.2.1'), rule);
  failure = null;
  await feed.flush();
  expect(sent.map(([, events]) => events)).toEqual([2]);
  feed.note(by('192.0.2.1'), rule);
  failure = new RedisError('timeout', 'late');
  await feed.flush();
  failure = null;
  await feed.flush();
  expect(sent).toHaveLength(1);
  expect(mentioned).toBe(2);
});

test('of too many offenders the worst go first, and the others with the next batch', async () => {
  const feed = newFeed();
  for (let n = 0; n < 1_500; n++) feed.note(by(`offender ${n}`), rule);
  times(2, () => feed.note(by('192.0.2.1'), rule));
  await feed.flush();
  expect([sent.length, sent[0]?.[1]]).toEqual([1_000, 2]);
  await feed.flush();
  expect(sent.length).toBe(1_501);
});

test('queues 10,000 offenders, and counts the offences of others that it leaves out', async () => {
  const feed = newFeed();
  for (let n = 1; n <= 10_002; n++) feed.note(by(`offender ${n}`), rule);
  feed.note(by('offender 1'), rule);
  for (let batch = 0; batch < 10; batch++) await feed.flush();
  expect([sent.length, sent[0]?.[1], feed.left]).toEqual([10_000, 2, 2]);
});
