import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProcessPermits } from '../../../src/core/index.ts';

test('a key gets as many permits as its share, and one more for each returned', () => {
  const permits = new ProcessPermits();
  const take = () => permits.take('a', 9, 2);
  expect([take(), take(), take()]).toEqual([null, null, 'share taken']);
  permits.giveBack('a');
  expect(take()).toBe(null);
  expect([permits.taken, permits.takenBy('a')]).toEqual([2, 2]);
});

test('all keys together get no more than the maximum, and what is refused counts nowhere', () => {
  const permits = new ProcessPermits();
  for (const key of ['a', 'b']) permits.take(key, 2, 2);
  expect(permits.take('c', 2, 2)).toBe('full');
  permits.giveBack('a');
  expect([permits.takenBy('a'), permits.takenBy('c'), permits.take('c', 2, 2)]).toEqual([0, 0, null]);
});

test('both caps are named where both are met', () => {
  const permits = new ProcessPermits();
  permits.take('a', 1, 1);
  expect(permits.take('a', 1, 1)).toBe('both');
});

test('a cap of 0 lets nothing pass', () => {
  expect(new ProcessPermits().take('a', 1, 0)).toBe('share taken');
});

describe('an owner of keys', () => {
  const SMALL = { key: 'small', shares: 2 };
  const LARGE = { key: 'large', shares: 3 };

  test('gets so many shares for all its keys, and what is refused counts nowhere', () => {
    const permits = new ProcessPermits();
    const take = (key: string) => permits.take(key, 99, 2, [SMALL]);
    expect(['a', 'a', 'a', 'b', 'c', 'd'].map(take)).toEqual([
      ...[null, null, 'share taken', null],
      ...[null, 'share taken'],
    ]);
    expect(permits.take('e', 99, 2)).toBe(null);
    expect(['small', 'd', 'e'].map(key => permits.takenBy(key))).toEqual([4, 0, 1]);
    permits.giveBack('c', [SMALL]);
    expect(['d', 'd'].map(take)).toEqual([null, 'share taken']);
  });

  test('shares with the owner of a larger network', () => {
    const permits = new ProcessPermits();
    const other = { key: 'other', shares: 2 };
    const take = (key: string, owner = SMALL) => permits.take(key, 99, 1, [owner, LARGE]);
    expect([take('a'), take('b'), take('c'), take('d', other), take('e', other)]).toEqual([
      ...[null, null, 'share taken', null, 'share taken'],
    ]);
    permits.giveBack('a', [SMALL, LARGE]);
    expect([take('e', other), take('c'), permits.takenBy('large'), permits.taken]).toEqual([
      ...[null, 'share taken', 3, 3],
    ]);
  });

  test('has what its keys have, however they come and go', () => {
    const permits = new ProcessPermits();
    const held = new Map<string, number>();
    const keys = ['a', 'b', 'c'];
    fc.assert(
      fc.property(fc.constantFrom(...keys), fc.boolean(), (key, isTaken) => {
        const count = held.get(key) ?? 0;
        const sum = keys.reduce((all, each) => all + (held.get(each) ?? 0), 0);
        if (isTaken) {
          const none = permits.take(key, 9, 3, [SMALL, LARGE]);
          expect(none).toBe(sum === 9 ? 'full' : count === 3 || sum >= 6 ? 'share taken' : null);
          if (none === null) held.set(key, count + 1);
        } else if (count > 0) {
          permits.giveBack(key, [SMALL, LARGE]);
          held.set(key, count - 1);
        }
        for (const owner of ['small', 'large'])
          expect(permits.takenBy(owner)).toBe(keys.reduce((all, each) => all + (held.get(each) ?? 0), 0));
      }),
    );
  });
});
