import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { OwnSequence, SharedMemory, SharedSequence } from '../../../src/core/index.ts';

function threads() {
  const main = SharedMemory.create(2, randomBytes);
  const own = new SharedSequence(main, 'numbers');
  const worker = (number: number) =>
    new SharedSequence(new SharedMemory(structuredClone(main.handover), number), 'numbers');
  return { main, own, one: worker(1), two: worker(2) };
}

test('threads that share a sequence take each number once, upwards', () => {
  const { own, one, two } = threads();
  expect(own.last).toBe(0);
  expect([one.next(), two.next(), two.next(), one.next()]).toEqual([1, 2, 3, 4]);
  expect([own.last, one.last, two.last]).toEqual([4, 4, 4]);
});

test('they go on beyond 32 bits', () => {
  const { main, one, two } = threads();
  main.words('numbers', 2).ints[0] = -2;
  expect([one.next(), two.next(), one.next(), two.last]).toEqual([
    2 ** 32 - 1,
    2 ** 32,
    2 ** 32 + 1,
    2 ** 32 + 1,
  ]);
});

test('a thread alone has its own', () => {
  const numbers = new OwnSequence();
  expect([numbers.last, numbers.next(), numbers.next(), numbers.last]).toEqual([0, 1, 2, 2]);
});
