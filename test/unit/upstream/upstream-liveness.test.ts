import { expect, test } from 'vitest';
import { UpstreamLiveness } from '../../../src/upstream/upstream-liveness.ts';

const OPTIONS = { maxConnections: 1, maxStreams: 1, pingIntervalMs: 1_000, pingTimeoutMs: 500 };

test('an upstream that sends is not asked', () => {
  const liveness = new UpstreamLiveness(OPTIONS);
  for (let i = 1; i < 10; i++) expect(liveness.sweep(900 * i, i, false)).toBe('wait');
});

test('an upstream of which nothing is expected is not asked', () => {
  const liveness = new UpstreamLiveness(OPTIONS);
  for (let i = 1; i < 10; i++) expect(liveness.sweep(900 * i, 0, true)).toBe('wait');
  expect(liveness.sweep(9_000, 0, false)).toBe('wait');
  expect(liveness.sweep(9_100, 0, false)).toBe('ping');
});

test('a silent upstream is asked once, and given up if nothing comes', () => {
  const liveness = new UpstreamLiveness(OPTIONS);
  expect([0, 999, 1_000].map(now => liveness.sweep(now, 0, false))).toEqual(['wait', 'wait', 'ping']);
  expect([liveness.ping(), liveness.ping()]).toEqual([true, false]);
  expect([1_000, 1_500, 1_501].map(now => liveness.sweep(now, 0, false))).toEqual([
    'wait',
    'wait',
    'give up',
  ]);
});

test('any byte shows that it is there', () => {
  const liveness = new UpstreamLiveness(OPTIONS);
  liveness.ping();
  expect(liveness.sweep(0, 0, false)).toBe('wait');
  expect([10_000, 10_999, 11_000].map(now => liveness.sweep(now, 9, false))).toEqual([
    'wait',
    'wait',
    'ping',
  ]);
});
