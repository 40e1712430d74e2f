import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CALLER_CLAIMS, ORIGIN_CLAIMS, OVERRIDES } from '../../../src/http/field-rules.ts';

const contract = await readFile('docs/contract.md', 'utf8');

/** The names in one row of the contract's table. */
function namesIn(row: string): string[] {
  const line = contract.split('\n').find(each => each.startsWith(`| ${row} |`)) ?? '';
  return [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.toLowerCase());
}

test.each([
  ['where a request came from and was sent to', ORIGIN_CLAIMS],
  ['who sends it', CALLER_CLAIMS],
  ['another method or path', OVERRIDES],
])('the contract lists every field that says %s', (row, names) => {
  expect(namesIn(row)).toEqual(names);
});

test('each name is in lower case and in one list only', () => {
  const all = [...ORIGIN_CLAIMS, ...CALLER_CLAIMS, ...OVERRIDES];
  expect(new Set(all).size).toBe(all.length);
  expect(all).toEqual(all.map(name => name.toLowerCase()));
});
