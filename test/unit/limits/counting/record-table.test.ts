import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { RecordTable } from '../../../../src/limits/counting/record-table.ts';

const WIDTH = 4;
const HASH = 1;
const VALUE = 2;

/** The values of the records under this hash, the last one taken first. */
function valuesUnder(table: RecordTable, hash: number): (number | undefined)[] {
  const values = [];
  for (let at = table.first(hash); at >= 0; at = table.after(at))
    if (table.ints[at * WIDTH + HASH] === hash) values.push(table.ints[at * WIDTH + VALUE]);
  return values;
}

function take(table: RecordTable, hash: number, value: number): number {
  const at = table.take(hash);
  table.records.set(at * WIDTH + HASH, hash);
  table.records.set(at * WIDTH + VALUE, value);
  return at;
}

test('a record is found by its hash, beside others of the same hash and of the same place', () => {
  const table = new RecordTable(ownMemory(randomBytes), 'records', 8, WIDTH);
  for (const [hash, value] of [
    [5, 50],
    [13, 130],
    [5, 51],
    [-3, 30],
  ] as const)
    take(table, hash, value);
  expect(valuesUnder(table, 5)).toEqual([51, 50]);
  expect(valuesUnder(table, 13)).toEqual([130]);
  expect(valuesUnder(table, -3)).toEqual([30]);
  expect(valuesUnder(table, 6)).toEqual([]);
});

test.each([0, 1, 2])('a record given back from place %i of a chain leaves the others there', removed => {
  const table = new RecordTable(ownMemory(randomBytes), 'records', 8, WIDTH);
  const records = [10, 11, 12].map(value => take(table, 7, value));
  table.giveBack(records[removed] ?? -1, 7);
  expect(valuesUnder(table, 7)).toEqual([12, 11, 10].filter(value => value !== 10 + removed));
  expect(table.size).toBe(2);
});

test('no more records are handed out than fit, and those given back come first', () => {
  const table = new RecordTable(ownMemory(randomBytes), 'records', 3, WIDTH);
  const records = [1, 2, 3].map(hash => table.take(hash));
  expect(records).toEqual([0, 1, 2]);
  expect(table.take(4)).toBe(-1);
  table.giveBack(1, 2);
  table.giveBack(0, 1);
  expect([table.size, table.used]).toEqual([1, 3]);
  expect([table.take(8), table.take(9), table.take(10)]).toEqual([0, 1, -1]);
  expect([table.first(8), table.first(9)]).toEqual([0, 1]);
});

test('floats of a record lie in the same memory as its integers', () => {
  const table = new RecordTable(ownMemory(randomBytes), 'records', 2, WIDTH);
  table.take(1);
  const at = table.take(2);
  table.records.setFloat((at * WIDTH + VALUE) >> 1, 1.5);
  expect(new Float64Array(table.ints.slice(at * WIDTH + VALUE, at * WIDTH + VALUE + 2).buffer)[0]).toBe(1.5);
});
