import { describe, expect, it } from 'vitest';
import { mainValue } from '../../../../src/wire/http/index.ts';

describe('the value of a main parameter', () => {
  it.each([
    ['7', '7'],
    ['a%20b', 'a b'],
    ['%C3%BC', 'ü'],
    ['7;version=2', '7'],
    ['7%3Bversion=2', '7'],
    ['%253B', '%3B'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ])('of %s is %s', (segment, value) => {
    expect(mainValue(segment)).toBe(value);
  });

  it('is a hash of 43 characters if it is longer than 64, different for each value', () => {
    const [one, other] = ['a', 'b'].map(letter => mainValue(letter.repeat(65)));
    expect(one).toMatch(/^[\w-]{43}$/);
    expect(other).toMatch(/^[\w-]{43}$/);
    expect(other).not.toBe(one);
  });

  it('is null if the bytes are not UTF-8', () => {
    expect(mainValue('%FF')).toBeNull();
  });
});
