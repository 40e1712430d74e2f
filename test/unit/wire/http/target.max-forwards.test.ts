import { describe, expect, test } from 'vitest';
import { readMaxForwards, writeMaxForwards } from '../../../../src/wire/http/target.ts';

describe('Max-Forwards', () => {
  test.each([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['2147483647', 2_147_483_647],
    ['2147483648', 2_147_483_647],
    ['9'.repeat(5_000), 2_147_483_647],
  ])('is a number, capped if it is huge: %.20s', (value, number) => {
    expect(readMaxForwards(['Host', 'a', 'MAX-forwards', value])).toBe(number);
  });

  test.each(['', '-1', '+1', '1.0', '1e3', '0x1', '1, 2', '\u0661', 'one'])(
    'is rejected if it is not a number: %j',
    value => {
      expect(readMaxForwards(['Max-Forwards', value])).toHaveProperty('rejected');
    },
  );

  test('is rejected if it came twice, and null if it did not come', () => {
    expect(readMaxForwards(['Max-Forwards', '1', 'max-forwards', '1'])).toHaveProperty('rejected');
    expect(readMaxForwards(['Max-Forward', '1', 'Max_Forwards', '1', 'X', 'Max-Forwards'])).toBeNull();
  });

  test('is replaced in place', () => {
    const fields = ['A', 'b', 'max-Forwards', '8', 'C', 'd'];
    writeMaxForwards(fields, 7);
    expect(fields).toEqual(['A', 'b', 'max-Forwards', '7', 'C', 'd']);
  });

  test('is appended if its field was removed', () => {
    const fields = ['A', 'b'];
    writeMaxForwards(fields, 7);
    expect(fields).toEqual(['A', 'b', 'Max-Forwards', '7']);
  });
});
