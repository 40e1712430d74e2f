import { describe, expect, test } from 'vitest';
import { readMaxForwards, writeMaxForwards } from '../../../src/http/max-forwards.ts';

describe('Max-Forwards', () => {
  test.each([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['2147483647', 2_147_483_647],
    ['2147483648', 2_147_483_647],
    ['9'.repeat(5_000), 2_147_483_647],
  ])('is a number, of which much is as good as more: %.20s', (value, number) => {
    expect(readMaxForwards(['Host', 'a', 'MAX-forwards', value])).toBe(number);
  });

  test.each(['', '-1', '+1', '1.0', '1e3', '0x1', '1, 2', '\u0661', 'one'])(
    'is refused when it is none: %j',
    value => {
      expect(readMaxForwards(['Max-Forwards', value])).toHaveProperty('rejected');
    },
  );

  test('is refused when it came twice, and missed when it did not come', () => {
    expect(readMaxForwards(['Max-Forwards', '1', 'max-forwards', '1'])).toHaveProperty('rejected');
    expect(readMaxForwards(['Max-Forward', '1', 'Max_Forwards', '1', 'X', 'Max-Forwards'])).toBeNull();
  });

  test('is written in its place', () => {
    const fields = ['A', 'b', 'max-Forwards', '8', 'C', 'd'];
    writeMaxForwards(fields, 7);
    expect(fields).toEqual(['A', 'b', 'max-Forwards', '7', 'C', 'd']);
  });

  test('is written at the end where its field was taken out', () => {
    const fields = ['A', 'b'];
    writeMaxForwards(fields, 7);
    expect(fields).toEqual(['A', 'b', 'Max-Forwards', '7']);
  });
});
