import { expect, test } from 'vitest';
import { EncodingTable } from '../../../../../src/wire/http2/hpack/encoding-table.ts';
import { usedBytes } from '../../../../support/memory.ts';

test('entries are found by name and value, the newest at 62', () => {
  const table = new EncodingTable();
  table.add('a', '1');
  table.add('a', '2');
  table.add('b', '1');
  expect([table.indexOf('a', '1'), table.indexOf('a', '2'), table.indexOf('b', '1')]).toEqual([64, 63, 62]);
  expect([table.indexOfName('a'), table.indexOfName('b')]).toEqual([63, 62]);
  expect([table.indexOf('a', '3'), table.indexOf('c', '1'), table.indexOfName('c')]).toEqual([0, 0, 0]);
});

test('the oldest entries make room', () => {
  const table = new EncodingTable();
  for (let i = 0; i < 500; i++) table.add(`name-${i}`, 'x'.repeat(200));
  expect(table.indexOf('name-482', 'x'.repeat(200))).toBe(0);
  expect(table.indexOf('name-483', 'x'.repeat(200))).toBe(62 + 16);
  expect(table.indexOf('name-499', 'x'.repeat(200))).toBe(62);
});

test('a value that is too large for its use is not wanted', () => {
  const table = new EncodingTable();
  expect([table.wants('a', 'x'.repeat(991)), table.wants('a', 'x'.repeat(992))]).toEqual([true, false]);
  table.limit(100);
  expect([table.wants('a', 'x'.repeat(67)), table.wants('a', 'x'.repeat(68))]).toEqual([true, false]);
});

test('a name whose values never come again is not wanted any more, unless one does', () => {
  const table = new EncodingTable();
  const wanted: boolean[] = [];
  for (let i = 0; i < 10; i++) {
    wanted.push(table.wants('a', String(i)));
    if (wanted.at(-1) === true) table.add('a', String(i));
  }
  expect(wanted.filter(Boolean)).toHaveLength(8);
  table.indexOf('a', '3');
  expect(table.wants('a', '10')).toBe(true);
});

test('of very many names, only those in the table are remembered', () => {
  const table = new EncodingTable();
  const before = usedBytes();
  for (let i = 0; i < 100_000; i++) table.add(`x-${i}`, '');
  expect(usedBytes() - before).toBeLessThan(2_000_000);
  expect(table.indexOf('x-99999', '')).toBe(62);
});

test('a smaller limit is told with the next block, and so is the least one in between', () => {
  const table = new EncodingTable();
  table.add('a', '1');
  table.limit(4_096);
  table.limit(1_000_000);
  expect(table.takeResizes()).toEqual([]);
  table.limit(0);
  table.limit(200);
  expect(table.takeResizes()).toEqual([0, 200]);
  expect(table.takeResizes()).toEqual([]);
  expect(table.indexOf('a', '1')).toBe(0);
  table.limit(100);
  expect(table.takeResizes()).toEqual([100]);
});
