import { expect, test } from 'vitest';
import { Memo } from '../../../src/core/index.ts';

test('a text is computed once, and again after forget', () => {
  let made = 0;
  const memo = new Memo(value => `${value}${++made}`, 10);
  expect([memo.of('a'), memo.of('a'), memo.of('b'), memo.of('a')]).toEqual(['a1', 'a1', 'b2', 'a1']);
  memo.forget();
  expect(memo.of('a')).toBe('a3');
});

test('a text in use stays remembered while many others come; an unused one is dropped', () => {
  let made = 0;
  const memo = new Memo(value => {
    made++;
    return `${value}!`;
  }, 100);
  memo.of('once');
  for (let i = 0; i < 1_000; i++) {
    memo.of('often');
    expect(memo.of(`${i}`)).toBe(`${i}!`);
  }
  expect(made).toBe(1_002);
  memo.of('often');
  expect(made).toBe(1_002);
  memo.of('once');
  expect(made).toBe(1_003);
});

test('forget drops both generations', () => {
  let generation = 1;
  const memo = new Memo(value => `${value} of ${generation}`, 20);
  for (let i = 0; i < 15; i++) memo.of(`${i}`);
  memo.forget();
  generation = 2;
  for (const value of ['0', '14']) expect(memo.of(value)).toBe(`${value} of 2`);
});
