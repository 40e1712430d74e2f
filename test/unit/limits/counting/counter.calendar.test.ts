import { beforeEach, expect, test } from 'vitest';
import { defineLimit, type MemoryStore, parseQuota } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limits, newStore, windowIn } from '../stores.ts';

const HOUR_MS = 3_600_000;
const at = (moment: string) => Date.parse(moment);
const of = (quota: string, timeZone = 'UTC', more = {}) =>
  limits({
    caller: defineLimit({
      ...{ role: 'caller', bucket: 'b', main: null, algorithm: 'window', quota: parseQuota(quota), timeZone },
      ...more,
    }),
  });

let clock: FrozenClock;
let store: MemoryStore;

/** The moment lies in the middle of a millisecond: the clock of tests has odd fractions. */
function begin(moment: string): void {
  clock = new FrozenClock(at(moment));
  store = newStore(clock);
}

const ask = (set = of('2/day'), cost = 1) => copyOf(store.decide(set, 'user:a', '', '', cost));

beforeEach(() => begin('2026-11-29T22:00:00Z'));

test('a day lasts until midnight, and the next begins with its first request', () => {
  expect(ask()).toMatchObject({ remaining: 1, resetAtMs: at('2026-11-30T00:00:00Z') });
  expect(ask()).toMatchObject({ remaining: 0, resetAtMs: at('2026-11-30T00:00:00Z') });
  expect(ask()).toMatchObject({ admitted: false, resetAtMs: at('2026-11-30T00:00:00Z') });
  expect(Math.abs(ask().retryAfterMs - 2 * HOUR_MS)).toBeLessThanOrEqual(1);
  clock.advance(ask().retryAfterMs);
  expect(ask()).toMatchObject({ admitted: true, remaining: 1, resetAtMs: at('2026-12-01T00:00:00Z') });
  clock.advance(30 * HOUR_MS);
  expect(ask()).toMatchObject({ admitted: true, remaining: 1, resetAtMs: at('2026-12-02T00:00:00Z') });
});

test('a week lasts until Monday and a month until the first, in the time zone', () => {
  expect(ask(of('5/week', 'Europe/Berlin')).resetAtMs).toBe(at('2026-11-29T23:00:00Z'));
  expect(ask(of('5/month', 'Europe/Berlin')).resetAtMs).toBe(at('2026-11-30T23:00:00Z'));
});

test.each([
  ['2026-03-28T23:00:00Z', 23],
  ['2026-10-24T22:00:00Z', 25],
])('the day that begins at %s in Berlin has %d hours and one quota', (midnight, hours) => {
  begin(midnight);
  const set = of('48/day', 'Europe/Berlin');
  let admitted = 0;
  for (let half = 0; half < 2 * hours; half++) {
    const decision = ask(set);
    admitted += decision.admitted ? 1 : 0;
    expect(decision.resetAtMs).toBe(at(midnight) + hours * HOUR_MS);
    clock.advance(HOUR_MS / 2);
  }
  expect(admitted).toBe(Math.min(48, 2 * hours));
  expect(ask(set)).toMatchObject({ remaining: 47, resetAtMs: at(midnight) + (hours + 24) * HOUR_MS });
});

test('in the slack before midnight a used-up day gives way to the next, of which nothing is told yet', () => {
  ask();
  ask();
  clock.advance(2 * HOUR_MS - 15);
  expect(ask()).toMatchObject({ admitted: true, remaining: 0, resetAtMs: at('2026-11-30T00:00:00Z') });
  clock.advance(20);
  expect(ask()).toMatchObject({ admitted: true, remaining: 0, resetAtMs: at('2026-12-01T00:00:00Z') });
});

test('a change of the time zone acts at the next boundary', () => {
  const [utc, berlin] = [of('2/day'), of('2/day', 'Europe/Berlin')];
  expect(ask(utc).resetAtMs).toBe(at('2026-11-30T00:00:00Z'));
  clock.advance(HOUR_MS / 2);
  expect(ask(berlin)).toMatchObject({ remaining: 0, resetAtMs: at('2026-11-30T00:00:00Z') });
  clock.advance(HOUR_MS);
  expect(ask(berlin)).toMatchObject({ admitted: false, resetAtMs: at('2026-11-30T00:00:00Z') });
  clock.advance(HOUR_MS);
  expect(ask(berlin)).toMatchObject({ admitted: true, remaining: 1, resetAtMs: at('2026-11-30T23:00:00Z') });
});

test.each(['day', 'week', 'month'])('a change of the time zone leaves what was announced of a %s', unit => {
  begin('2026-11-18T11:00:00Z');
  const { resetAtMs } = ask(of(`9/${unit}`));
  for (const [at, zone] of [
    'Europe/Berlin',
    'America/New_York',
    'Asia/Tokyo',
    'Pacific/Pago_Pago',
  ].entries()) {
    const set = of(`9/${unit}`, zone);
    expect(ask(set), zone).toMatchObject({ admitted: true, remaining: 7 - at, resetAtMs });
    expect(store.peek(set, 'user:a', '')).toMatchObject({ remaining: 7 - at, resetAtMs });
  }
});

test('a window that ends later than its calendar knows ends with the current one: the wall clock was wrong', () => {
  begin('2031-06-01T12:00:00Z');
  const sets = [of('1/day'), of('1/week'), of('1/month')];
  for (const set of sets) ask(set);
  clock.stepWorld(at('2026-11-29T12:00:00Z') - at('2031-06-01T12:00:00Z'));
  const ends = ['2026-11-30T00:00:00Z', '2026-11-30T00:00:00Z', '2026-12-01T00:00:00Z'].map(at);
  expect(sets.map(set => ask(set))).toMatchObject(ends.map(resetAtMs => ({ admitted: false, resetAtMs })));
  clock.advance(12 * HOUR_MS + 1);
  expect(sets.map(set => ask(set).admitted)).toEqual([true, true, false]);
});

test('a step back over midnight keeps what is left of the day that has begun', () => {
  ask(of('9/day'));
  clock.advance(3 * HOUR_MS);
  expect(ask(of('9/day'))).toMatchObject({ remaining: 8, resetAtMs: at('2026-12-01T00:00:00Z') });
  clock.stepWorld(-2 * HOUR_MS);
  expect(ask(of('9/day'))).toMatchObject({ remaining: 7, resetAtMs: at('2026-12-01T00:00:00Z') });
});

test('a step of the wall clock moves the end of the day, and gives nobody a second quota', () => {
  ask();
  ask();
  clock.stepWorld(HOUR_MS);
  expect(ask()).toMatchObject({ admitted: false, resetAtMs: at('2026-11-30T00:00:00Z') });
  expect(Math.abs(ask().retryAfterMs - HOUR_MS)).toBeLessThanOrEqual(1);
  clock.stepWorld(-2 * HOUR_MS);
  expect(Math.abs(ask().retryAfterMs - 3 * HOUR_MS)).toBeLessThanOrEqual(1);
  clock.advance(2 * HOUR_MS);
  expect(ask().admitted).toBe(false);
  clock.advance(HOUR_MS);
  expect(ask()).toMatchObject({ admitted: true, resetAtMs: at('2026-12-01T00:00:00Z') });
});

test('a step back gives nobody a second quota, though nobody asked in between', async () => {
  ask();
  ask();
  clock.stepWorld(-5 * HOUR_MS);
  clock.advance(3 * HOUR_MS);
  store.sweep();
  for (const caller of ['user:b', 'user:c', 'user:d']) store.decide(of('2/day'), caller, '');
  expect(ask()).toMatchObject({ admitted: false, resetAtMs: at('2026-11-30T00:00:00Z') });
  clock.advance(4 * HOUR_MS + 1);
  store.sweep();
  expect(store.counts.keys).toBe(0);
});

test('a window of the far future takes no room for longer than it was announced', () => {
  begin('2031-06-01T12:00:00Z');
  ask(of('1/day'));
  clock.stepWorld(at('2026-11-29T12:00:00Z') - at('2031-06-01T12:00:00Z'));
  clock.advance(12 * HOUR_MS + 1);
  store.sweep();
  expect(store.counts.keys).toBe(0);
});

test('a month of 31 days in which clocks go back is told whole', () => {
  begin('2026-09-30T22:00:00Z');
  const set = of('1/month', 'Europe/Berlin');
  ask(set);
  const { retryAfterMs, resetAtMs } = ask(set);
  expect(resetAtMs).toBe(at('2026-10-31T23:00:00Z'));
  expect(Math.abs(retryAfterMs - (31 * 24 + 1) * HOUR_MS)).toBeLessThanOrEqual(1);
  clock.advance(retryAfterMs);
  expect(ask(set).admitted).toBe(true);
});

test('24h is no day: it opens with the first request', () => {
  const set = of('2/24h');
  expect(ask(set).resetAfterMs).toBe(24 * HOUR_MS);
  expect(set.caller?.identity).not.toBe(of('2/day').caller?.identity);
  expect(of('2/day').caller?.identity).toBe(of('3/day', 'Asia/Tokyo').caller?.identity);
});

test('units go back as long as the day is the same, also after a step of the wall clock', () => {
  const resource = defineLimit({
    ...{ role: 'resource', bucket: 'b', main: 'id', algorithm: 'window', quota: parseQuota('2/day') },
  });
  const set = limits({ resource });
  const resourceWindow = windowIn(store.decide(set, 'user:a', 'x'), 'resource');
  clock.stepWorld(10_000);
  store.refund(resource, 'x', resourceWindow);
  expect(store.peek(set, 'user:a', 'x').remaining).toBe(2);
  const last = copyOf(store.decide(set, 'user:a', 'x'));
  clock.advance(2 * HOUR_MS);
  store.decide(set, 'user:a', 'x');
  store.refund(resource, 'x', windowIn(last, 'resource'));
  expect(store.peek(set, 'user:a', 'x').remaining).toBe(1);
});
