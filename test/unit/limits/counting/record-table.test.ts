import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { FIRST_NAMED_WORD, NamedTable, RecordTable } from '../../../../src/limits/counting/record-table.ts';
import { Random } from '../../../support/random.ts';

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

test('a name that is added is found again, by its whole hash, until it is dropped', () => {
  const table = new NamedTable(ownMemory(randomBytes), 'names', 3, WIDTH);
  const [a, b] = ['a', 'b'].map(name => table.add(name));
  expect(['a', 'b', 'c'].map(name => table.find(name))).toEqual([a, b, -1]);
  const [low, high] = table.hashOf(a ?? -1);
  expect([table.findHash(low, high), table.findHash(low, high + 1)]).toEqual([a, -1]);
  table.drop(a ?? -1);
  expect(['a', 'b'].map(name => table.find(name))).toEqual([-1, b]);
});

test('names are held as in a Map, through any history of additions and drops, with their words', () => {
  const random = new Random(3);
  const capacity = 12;
  const table = new NamedTable(ownMemory(randomBytes), 'names', capacity, 6);
  // Many share a half of their hash, or the place in the index.
  const halves = [0, 1, -1, 1 + 2 ** 16, 5];
  const all = halves.flatMap(low => halves.map(high => [low, high] as const));
  const hashes = all.filter(([low, high]) => low !== 0 || high !== 0);
  const model = new Map<string, { readonly at: number; readonly value: number }>();
  for (let step = 1; step < 3_000; step++) {
    const [low, high] = random.pick(hashes);
    const key = `${low} ${high}`;
    const held = model.get(key);
    if (held !== undefined) {
      table.drop(held.at);
      model.delete(key);
    } else {
      const at = table.addHash(low, high);
      expect(at < 0).toBe(model.size === capacity);
      if (at < 0) continue;
      for (let word = FIRST_NAMED_WORD; word < 6; word++) {
        expect(table.ints[at * 6 + word]).toBe(0);
        table.records.set(at * 6 + word, step);
      }
      model.set(key, { at, value: step });
    }
    expect(hashes.map(hash => table.findHash(...hash))).toEqual(
      hashes.map(hash => model.get(hash.join(' '))?.at ?? -1),
    );
    const heldAt = new Map(Array.from(model.values(), ({ at, value }) => [at, value]));
    for (let at = 0; at < capacity; at++) {
      expect(table.isHeld(at)).toBe(heldAt.has(at));
      if (heldAt.has(at)) expect(table.ints[at * 6 + 5]).toBe(heldAt.get(at));
    }
    expect(table.size).toBe(model.size);
  }
});
