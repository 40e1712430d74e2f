import { expect, test } from 'vitest';
import { Memo } from '../../../../src/observe/log/memo.ts';

test('what was made is made again only after it was forgotten', () => {
  let made = 0;
  const memo = new Memo<string>(value => `${value}${++made}`);
  expect([memo.of('a'), memo.of('a'), memo.of('b'), memo.of('a')]).toEqual(['a1', 'a1', 'b2', 'a1']);
  memo.forget();
  expect(memo.of('a')).toBe('a3');
});

test('what is used stays while much else passes by, and what is not used goes', () => {
  let made = 0;
  const memo = new Memo<string>(value => {
    made++;
    return `${value}!`;
  });
  memo.of('once');
  for (let i = 0; i < 100_000; i++) {
    memo.of('often');
    expect(memo.of(`${i}`)).toBe(`${i}!`);
  }
  expect(made).toBe(100_002);
  memo.of('often');
  expect(made).toBe(100_002);
  memo.of('once');
  expect(made).toBe(100_003);
});

test('what is forgotten is forgotten of both generations', () => {
  let generation = 1;
  const memo = new Memo<string>(value => `${value} of ${generation}`);
  for (let i = 0; i < 15_000; i++) memo.of(`${i}`);
  memo.forget();
  generation = 2;
  for (const value of ['0', '14999']) expect(memo.of(value)).toBe(`${value} of 2`);
});
