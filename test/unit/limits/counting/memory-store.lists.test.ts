import { beforeEach, describe, expect, test } from 'vitest';
import { type LimitOptions, limitsIn, type MemoryStore, parseQuota } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { admittedOf, copyOf, limit, limits, newStore, windowIn } from '../stores.ts';

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

/** A limit with several windows: `5/1s`, or `5/1s cost`. */
function list(quotas: readonly string[], options: Partial<LimitOptions> = {}) {
  const [first, ...more] = quotas.map(each => {
    const [quota = '', unit] = each.split(' ');
    return { ...parseQuota(quota), unit: unit === 'cost' ? ('cost' as const) : undefined };
  });
  if (quotas.some(each => each.endsWith(' cost'))) options = { hasCostQuota: true, ...options };
  if (first === undefined) throw new Error('no quota');
  return limit('1/1s', { ...options, quota: { ...first, more } });
}

const decide = (set: Parameters<typeof limits>[0], cost = 1) =>
  copyOf(store.decide(limits(set), 'user:a', '', 'acme', cost));

test('a quota of costs counts what requests cost, and every other one counts requests', () => {
  const own = list(['3/1m', '10/1m cost']);
  const resource = list(['5/1m'], { role: 'resource', main: 'id', hasCostQuota: true });
  expect(decide({ caller: own, resource }, 4)).toMatchObject({ limit: 3, remaining: 2 });
  expect(decide({ caller: own, resource }, 4)).toMatchObject({ limit: 3, remaining: 1 });
  // The cost refuses, so nothing is taken of the requests.
  expect(decide({ caller: own, resource }, 4)).toMatchObject({ admitted: false, limit: 10 });
  expect(decide({ caller: own, resource }, 2)).toMatchObject({ limit: 3, remaining: 0 });
  expect(decide({ caller: own, resource }, 0)).toMatchObject({ admitted: false, limit: 3 });
});

test('a request takes of all windows or of none', () => {
  const caller = list(['2/1s', '3/1h']);
  expect(admittedOf(5, () => decide({ caller }))).toBe(2);
  clock.advance(1_000);
  expect(admittedOf(5, () => decide({ caller }))).toBe(1);
  clock.advance(1_000);
  // The hour refused, so nothing was taken of the second.
  expect(decide({ caller })).toMatchObject({ admitted: false, limit: 3 });
  clock.advance(3_600_000);
  expect(admittedOf(5, () => decide({ caller }))).toBe(2);
});

describe('on success the headers describe', () => {
  test('the window with the least left', () => {
    const caller = list(['4/1s', '5/1h']);
    expect(decide({ caller })).toMatchObject({ limit: 4, remaining: 3 });
    clock.advance(1_000);
    expect(decide({ caller })).toMatchObject({ limit: 4, remaining: 3 });
    clock.advance(1_000);
    expect(decide({ caller })).toMatchObject({ limit: 5, remaining: 2 });
  });

  test('the shortest of equals, in whatever order they are written', () => {
    const caller = list(['5/1h', '5/1s', '5/1m']);
    expect(decide({ caller })).toMatchObject({ limit: 5, remaining: 4, resetAfterMs: 1_000 });
  });

  test('among those at 0 the one that resets last', () => {
    const caller = list(['2/1s', '2/1h', '2/1m']);
    decide({ caller });
    expect(decide({ caller })).toMatchObject({ remaining: 0, resetAfterMs: 3_600_000 });
  });

  test('the same of the resource, if callers have no limit of their own', () => {
    const resource = list(['5/1s', '3/1h'], { role: 'resource', main: 'id' });
    expect(decide({ resource })).toMatchObject({ role: 'resource', limit: 3, remaining: 2 });
  });

  test('neither the global limit nor that of the group', () => {
    const caller = limit('9/1s');
    const global = list(['5/1s', '2/1h'], { role: 'global', bucket: '' });
    const group = list(['5/1s', '2/1h'], { role: 'group', claim: 'org' });
    expect(decide({ global, caller, group })).toMatchObject({ role: 'caller', limit: 9 });
  });
});

test('a 429 describes the window that makes the request wait longest', () => {
  const caller = list(['2/1s', '2/1h', '2/1m']);
  admittedOf(2, () => decide({ caller }));
  expect(decide({ caller })).toMatchObject({ admitted: false, retryAfterMs: 3_600_000, by: caller.more[0] });
});

test('of several global windows the one with the longest wait refuses, before any of the bucket', () => {
  const global = list(['2/1s', '2/1m'], { role: 'global', bucket: '' });
  const caller = limit('2/1h');
  admittedOf(2, () => decide({ global, caller }));
  expect(decide({ global, caller })).toMatchObject({ role: 'global', retryAfterMs: 60_000 });
});

test('after a reload a window goes on by its period, a new one begins empty, and a removed one is forgotten', () => {
  const before = list(['5/1s', '10/1h']);
  admittedOf(3, () => decide({ caller: before }));
  const after = list(['20/1m', '9/1h']);
  expect(decide({ caller: after })).toMatchObject({ limit: 9, remaining: 5 });
  expect(limitsIn(limits({ caller: limit('10/1h') })).map(({ identity }) => identity)).toEqual([
    before.more[0]?.identity,
  ]);
});

test('each window in shadow decides on its own, and its role is named once', () => {
  const caller = list(['1/1s', '1/1h', '5/1m'], { isTrial: true });
  const set = { shadow: limits({ caller }) };
  expect(decide(set).shadow.refused).toEqual([]);
  expect(decide(set).shadow.refused).toEqual(['caller']);
});

test('units of a group and a resource go back to every window that they came from', () => {
  const resource = list(['2/1s', '2/1h'], { role: 'resource', main: 'id' });
  const set = limits({ resource });
  const { drawn } = copyOf(store.decide(set, 'user:a', 'x'));
  expect(drawn.map(({ limit }) => limit)).toEqual(limitsIn(set));
  for (const { limit, window } of drawn) store.refund(limit, 'x', window);
  expect(admittedOf(5, () => store.decide(set, 'user:a', 'x'))).toBe(2);
});

test("a caller's own units go back where its limit says so", () => {
  const caller = list(['2/1s', '3/1h'], { returnsUnits: true });
  const { drawn } = decide({ caller });
  expect(drawn).toHaveLength(2);
  for (const { limit, window } of drawn) store.refund(limit, '', window, 1, 'user:a');
  expect(store.peek(limits({ caller }), 'user:a', '').remaining).toBe(2);
  expect(windowIn(decide({ caller: limit('2/1s') }), 'caller')).toBe(0);
});

test('no window of a request takes the place of another, in a table that is full', () => {
  const quotas = ['9/1s', '9/2s', '9/3s', '9/4s'];
  const set = limits({
    global: list(quotas, { role: 'global', bucket: '' }),
    caller: list(quotas, { main: 'id' }),
    group: list(quotas, { role: 'group', claim: 'org', main: 'id' }),
    resource: list(quotas, { role: 'resource', main: 'id' }),
  });
  const small = newStore(clock, { maxKeys: 40 });
  small.share(limitsIn(set));
  for (let n = 0; n < 50; n++) {
    const decision = copyOf(small.decide(set, `user:${n}`, `${n}`, `${n}`));
    expect(decision.drawn.length).toBeLessThanOrEqual(8);
  }
  expect(small.counts.keys).toBeLessThanOrEqual(40);
});
