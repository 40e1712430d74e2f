import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NameTable } from '../../../../src/wire/http/field-rules.ts';

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

test.each([..."!#$%&'*+.^_`|~"])('%s counts as a hyphen, since some server treats them alike', character => {
  const spelt = (name: string) => name.replaceAll('-', character);
  expect(table.get(spelt('X-Real-IP'))).toBe('c');
  expect(table.get(spelt('x-forwarded-Anything'))).toBe('b');
  expect(table.find(spelt('X-Real-IP'))?.spells(spelt('X-Real-IP'))).toBe(false);
  expect(table.find(spelt('X-Forwarded-Port'))?.spells(`X-Forwarded-Port${character}`)).toBe(false);
});

test('a name in any letter case counts as spelt as entered', () => {
  const odd = new NameTable([
    ['X_Corp.User', true],
    ['$ws*', true],
    ['oidc_*', true],
  ]);
  for (const name of ['x_corp.user', 'X_CORP.USER', '$WS-RU', 'OIDC_CLAIM_sub']) {
    expect(odd.find(name)?.spells(name)).toBe(true);
  }
  for (const name of ['x-corp.user', 'x_corp-user', '-WSRU', '$WS_RU']) {
    expect(odd.find(name)?.spells(name)).toBe(false);
  }
});

test('the last of two entries for a name wins, a whole name over a prefix, and the longer of two prefixes', () => {
  const twice = new NameTable([
    ['x-a', 1],
    ['x_a', 2],
    ['x-a*', 3],
    ['x-ab*', 4],
    ['X-AB', 5],
  ]);
  expect(['x-a', 'x-ab', 'x-abc', 'x-b'].map(name => twice.get(name))).toEqual([2, 5, 4, undefined]);
});

test('a prefix that is too short is rejected', () => {
  expect(() => new NameTable([['x-*', true]])).toThrow('"x-*" is too short for a prefix');
});

test('a prefix finds every longer name, of any length', () => {
  expect(table.get('X-Forwarded-For')).toBe('b');
  expect(table.get(`X-Forwarded-${'y'.repeat(500)}`)).toBe('b');
  expect(table.get('X-Forwarded')).toBeUndefined();
});

test('other names are not found, however similar they are', () => {
  for (const name of ['Hosts', 'Hoss', 'Accept', '__proto__', 'constructor', 'x-real-iq', '']) {
    expect(table.get(name)).toBeUndefined();
  }
});

test('the filter never hides a name that begins with a prefix that was entered', () => {
  const begin = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{2,9}[A-Za-z0-9_-]$/);
  const rest = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{0,9}$/);
  fc.assert(
    fc.property(begin, rest, (each, more) => {
      const entered = new NameTable([[`${each}*`, true]]);
      expect(entered.get(`${each}${more}`)).toBe(true);
      expect(entered.get(`${each}${more}`.toUpperCase())).toBe(true);
    }),
  );
});

test('the filter never hides a name that was entered', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{0,79}[A-Za-z0-9_-]$/);
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
