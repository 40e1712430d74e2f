import { expect, test } from 'vitest';
import { DecodingTable } from '../../../../../src/wire/http2/hpack/header-decoder.ts';

const field = (name: string, bytes = 40) => ({ name, value: '', grade: 0, bytes }) as const;

function names(table: DecodingTable): string {
  return Array.from({ length: table.length }, (_, i) => table.at(i)?.name).join('');
}

test('the newest entry is the first, and the oldest make room', () => {
  const table = new DecodingTable(100);
  for (const name of 'abc') table.add(field(name));
  expect(names(table)).toBe('cb');
  expect(table.at(2)).toBeUndefined();
});

test('an entry larger than the table empties it', () => {
  const table = new DecodingTable(100);
  table.add(field('a'));
  table.add(field('b', 101));
  expect(table.length).toBe(0);
  table.add(field('c', 100));
  expect(names(table)).toBe('c');
});

test('a smaller table lets go of the oldest, and may grow again', () => {
  const table = new DecodingTable(200);
  for (const name of 'abcde') table.add(field(name));
  table.resize(80);
  expect(names(table)).toBe('ed');
  table.resize(0);
  expect(names(table)).toBe('');
  table.resize(200);
  for (const name of 'vwxyz') table.add(field(name));
  expect(names(table)).toBe('zyxwv');
});

test('the decoding table holds as many entries as fit, over and over', () => {
  const table = new DecodingTable(4_096);
  for (let i = 0; i < 1_000; i++) table.add(field(String(i), 32));
  expect(table.length).toBe(128);
  expect([0, 127, 128].map(place => table.at(place)?.name)).toEqual(['999', '872', undefined]);
});
