import { expect, test } from 'vitest';
import { CallerShare } from '../../../../src/limits/index.ts';

const CALLERS = Array.from({ length: 20_000 }, (_, i) => `user:my-app user-${i}`);

function included(name: string, percent: number): Set<string> {
  const share = new CallerShare(name, percent);
  return new Set(CALLERS.filter(caller => share.includes(caller)));
}

test('a share of 10 % holds about a tenth of all callers, and one of 100 % holds all', () => {
  expect(included('messages', 10).size / CALLERS.length).toBeCloseTo(0.1, 1);
  expect(Math.abs(included('messages', 10).size - 2_000)).toBeLessThan(200);
  expect(included('messages', 100).size).toBe(CALLERS.length);
});

test('a share is the same in every process', () => {
  const share = new CallerShare('messages', 50);
  const first = CALLERS.slice(0, 16).map(caller => (share.includes(caller) ? 'x' : '.'));
  // Recorded once: other values would move callers in and out of the share at an upgrade.
  expect(first.join('')).toBe('x.x.xx....x.x...');
});

test('a caller in a share is in every larger one', () => {
  const larger = included('messages', 20);
  expect([...included('messages', 10)].filter(caller => !larger.has(caller))).toEqual([]);
});

test('another bucket picks other callers', () => {
  const others = included('uploads', 10);
  const both = [...included('messages', 10)].filter(caller => others.has(caller)).length;
  // A tenth of a tenth.
  expect(Math.abs(both - 200)).toBeLessThan(80);
});
