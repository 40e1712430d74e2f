import { expect, test } from 'vitest';
import { ServerNames } from '../../../../src/wire/tls/tls-server.ts';

const names = new ServerNames([
  ['a.test', 1],
  ['*.wild.test', 2],
  ['one.wild.test', 3],
  ['a.test', 4],
]);

test.each([
  ['a.test', 1],
  ['A.TEST', 1],
  ['two.wild.test', 2],
  ['one.wild.test', 3],
])('%s is found: its whole name before a wildcard, and the first of two', (name, value) => {
  expect(names.find(name)).toBe(value);
});

test.each(['', 'b.test', 'wild.test', '.wild.test.', 'a.two.wild.test', 'test', '*'])('%j is not', name => {
  expect(names.find(name)).toBeUndefined();
});
