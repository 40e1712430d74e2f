import { expect, test } from 'vitest';
import { Liveness } from '../../../../src/wire/http2/liveness.ts';

const TERMS = { pingIntervalMs: 1_000, pingTimeoutMs: 500 };

test('another side that sends is not asked', () => {
  const liveness = new Liveness();
  for (let i = 1; i < 10; i++) expect(liveness.sweep(900 * i, i, false, TERMS)).toBe('wait');
});

test('another side of which nothing is expected is not asked', () => {
  const liveness = new Liveness();
  for (let i = 1; i < 10; i++) expect(liveness.sweep(900 * i, 0, true, TERMS)).toBe('wait');
  expect(liveness.sweep(9_000, 0, false, TERMS)).toBe('wait');
  expect(liveness.sweep(9_100, 0, false, TERMS)).toBe('ping');
});

test('a silent other side is asked once, and given up if nothing comes', () => {
  const liveness = new Liveness();
  expect([0, 999, 1_000].map(now => liveness.sweep(now, 0, false, TERMS))).toEqual(['wait', 'wait', 'ping']);
  expect([liveness.ping(), liveness.ping()]).toEqual([true, false]);
  expect([1_000, 1_500, 1_501].map(now => liveness.sweep(now, 0, false, TERMS))).toEqual([
    'wait',
    'wait',
    'give up',
  ]);
});

test('any byte shows that it is there', () => {
  const liveness = new Liveness();
  liveness.ping();
  expect(liveness.sweep(0, 0, false, TERMS)).toBe('wait');
  expect([10_000, 10_999, 11_000].map(now => liveness.sweep(now, 9, false, TERMS))).toEqual([
    'wait',
    'wait',
    'ping',
  ]);
});

test('it is asked again as long after it answered', () => {
  const liveness = new Liveness();
  const next = [0, 1_000].map(now => liveness.sweep(now, 9, false, TERMS));
  liveness.ping();
  expect([...next, liveness.sweep(1_500, 26, false, TERMS)]).toEqual(['wait', 'ping', 'wait']);
  expect([2_499, 2_500].map(now => liveness.sweep(now, 26, false, TERMS))).toEqual(['wait', 'ping']);
});

test('each PING has the whole time for its answer, however long ago the last one was', () => {
  const liveness = new Liveness();
  liveness.ping();
  expect(liveness.sweep(0, 0, false, TERMS)).toBe('wait');
  expect([100, 1_100].map(now => liveness.sweep(now, 9, false, TERMS))).toEqual(['wait', 'ping']);
  liveness.ping();
  expect([1_100, 1_600, 1_601].map(now => liveness.sweep(now, 9, false, TERMS))).toEqual([
    'wait',
    'wait',
    'give up',
  ]);
});

test('what else shows that it is there counts as a byte, and answers a PING', () => {
  const liveness = new Liveness();
  expect([0, 1_000].map(now => liveness.sweep(now, 9, false, TERMS))).toEqual(['wait', 'ping']);
  liveness.ping();
  liveness.heard();
  expect([9_000, 9_999, 10_000].map(now => liveness.sweep(now, 9, false, TERMS))).toEqual([
    'wait',
    'wait',
    'ping',
  ]);
});
