import { expect, test } from 'vitest';
import { ReadPause } from '../../../../src/edge/server/http1-connection.ts';

test('a rest is over at the third sweep, and once', () => {
  const rest = new ReadPause();
  expect(rest.isOver()).toBe(false);
  rest.begin();
  const seen = [1, 2, 3, 4].map(() => [rest.isOn, rest.isOver()]);
  expect(seen).toEqual([
    [true, false],
    [true, false],
    [true, true],
    [false, false],
  ]);
});
