import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NameTable } from '../../../src/http/name-table.ts';

const table = new NameTable([
  ['host', 'a'],
  ['x-forwarded-*', 'b'],
  ['x-real-ip', 'c'],
]);

test('a name is found in any letter case', () => {
  expect(table.get('Host')).toBe('a');
  expect(table.get('hOST')).toBe('a');
  expect(table.get('X-REAL-IP')).toBe('c');
});

test('an underscore stands for a hyphen, since CGI folds both into one', () => {
  expect(table.get('X_Real_IP')).toBe('c');
  expect(table.get('x_forwarded-Anything')).toBe('b');
});

test('a prefix finds every longer name, of any length', () => {
  expect(table.get('X-Forwarded-For')).toBe('b');
  expect(table.get(`X-Forwarded-${'y'.repeat(500)}`)).toBe('b');
  expect(table.get('X-Forwarded')).toBeUndefined();
});

test('other names are not found, whatever they share with those that are', () => {
  for (const name of ['Hosts', 'Hoss', 'Accept', '__proto__', 'constructor', 'x-real-iq', '']) {
    expect(table.get(name)).toBeUndefined();
  }
});

test('the filter never hides a name that was entered', () => {
  const name = fc.stringMatching(/^[A-Za-z_-]{1,80}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 30 }), names => {
      const entered = new NameTable(names.map(each => [each.toLowerCase(), true] as const));
      for (const each of names) {
        expect(entered.get(each)).toBe(true);
        expect(entered.get(each.toUpperCase())).toBe(true);
      }
    }),
  );
});
