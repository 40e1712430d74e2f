import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory, SharedMemory } from '../../../src/core/index.ts';
import { RecordTable } from '../../../src/limits/counting/record-table.ts';

/** Planes of one thread never wait for each other: a lock that is taken is a mistake. */
function neverWait(): never {
  throw new Error('taken');
}

let main: SharedMemory;
let one: SharedMemory;
let two: SharedMemory;

beforeEach(() => {
  main = SharedMemory.create(2, randomBytes, neverWait);
  main.words('numbers', 5);
  // As a message carries it: the map is copied, the memory is not.
  one = new SharedMemory(structuredClone(main.handover), 1, neverWait);
  two = new SharedMemory(structuredClone(main.handover), 2, neverWait);
});

/** Begins to change words in a thread that dies before it leaves: its lock and its journal stay. */
function dieInside(memory: SharedMemory, change: () => void): void {
  const parts = [main.handover.control, ...main.handover.tables.values()];
  let left: Uint8Array[] = [];
  expect(() =>
    memory.whole(() => {
      change();
      left = parts.map(part => new Uint8Array(part).slice());
      throw new Error('dead');
    }),
  ).toThrow('dead');
  for (const [i, part] of parts.entries()) new Uint8Array(part).set(left[i] ?? []);
}

describe('shared memory', () => {
  test('gives all threads the same words for a name, and other words for another', () => {
    main.words('others', 5);
    const late = new SharedMemory(structuredClone(main.handover), 1, neverWait);
    one.whole(() => one.words('numbers', 5).set(4, 7));
    one.whole(() => one.words('numbers', 5).setFloat(1, 0.5));
    expect(two.words('numbers', 5).ints[4]).toBe(7);
    expect(main.words('numbers', 5).floats[1]).toBe(0.5);
    expect([...late.words('others', 5).ints]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('tells a worker that asks for a table which the main thread has not, or has with another size', () => {
    expect(() => one.words('unknown', 1)).toThrow('the main thread has not made the table "unknown"');
    expect(() => one.words('numbers', 50)).toThrow('the table "numbers" has another size');
  });

  test('gives all threads the same secret for a name, which no other process has', () => {
    const secret = one.secret('callers', 8);
    expect(two.secret('callers', 8)).toEqual(secret);
    expect(two.secret('networks', 8)).not.toEqual(secret);
    expect(SharedMemory.create(2, randomBytes).secret('callers', 8)).not.toEqual(secret);
  });

  test('undoes what a change that throws had written, the first value of each word last', () => {
    const words = one.words('numbers', 5);
    one.whole(() => words.set(0, 1));
    const change = () => {
      words.set(0, 2);
      words.setFloat(1, -1);
      words.add(0, 5);
      throw new Error('no');
    };
    expect(() => one.whole(change)).toThrow('no');
    expect([...words.ints]).toEqual([1, 0, 0, 0, 0, 0]);
    two.whole(() => two.words('numbers', 5).add(0, 1));
    expect(words.ints[0]).toBe(2);
  });

  test('undoes both halves of a float', () => {
    const words = one.words('numbers', 5);
    one.whole(() => words.setFloat(1, Math.PI));
    dieInside(one, () => words.setFloat(1, Math.E));
    main.recover(1);
    expect(words.floats[1]).toBe(Math.PI);
  });

  test('sees a change within a change as part of it', () => {
    const words = one.words('numbers', 5);
    const both = () => {
      words.set(0, 1);
      one.whole(() => words.set(1, 1));
      expect(() => two.whole(() => {})).toThrow('taken');
      throw new Error('no');
    };
    expect(() => one.whole(both)).toThrow('no');
    expect([words.ints[0], words.ints[1]]).toEqual([0, 0]);
    expect(two.whole(() => 'free')).toBe('free');
  });

  test('keeps the finished steps of a long change', () => {
    const words = one.words('numbers', 5);
    const steps = () => {
      for (let i = 0; i < 10_000; i++) {
        words.add(0, 1);
        one.keep();
      }
      words.add(0, 1);
      throw new Error('no');
    };
    expect(() => one.whole(steps)).toThrow('no');
    expect(words.ints[0]).toBe(10_000);
    expect(() =>
      one.whole(() => {
        for (let i = 0; i < 10_000; i++) words.add(0, 1);
      }),
    ).toThrow('too many');
    expect(() => words.add(0, 1)).toThrow('outside of "whole"');
    expect(words.ints[0]).toBe(10_000);
  });

  test('is free and as it was before, once the main thread has heard of the death of the thread that was inside', async () => {
    const words = one.words('numbers', 5);
    one.whole(() => words.set(0, 1));
    dieInside(one, () => {
      words.set(0, 2);
      words.set(3, 3);
    });
    expect(() => two.whole(() => {})).toThrow('taken');
    // The main thread does not stand still: it would not hear of the death.
    expect(() => main.whole(() => {})).toThrow('taken');
    const read = main.soon(() => [...words.ints]);
    main.recover(2);
    expect(() => two.whole(() => {})).toThrow('taken');
    main.recover(1);
    expect(await read).toEqual([1, 0, 0, 0, 0, 0]);
    expect(two.whole(() => 'free')).toBe('free');
  });
});

test('memory of one thread runs changes as they come, and makes new words and secrets each time', async () => {
  const memory = ownMemory(randomBytes);
  const words = memory.words('numbers', 3);
  memory.whole(() => words.set(0, 1));
  await memory.soon(() => memory.keep());
  expect([words.ints.length, words.ints[0], memory.words('numbers', 3).ints[0]]).toEqual([4, 1, 0]);
  expect(memory.secret('callers', 8)).not.toEqual(memory.secret('callers', 8));
});

test('records that one thread has taken are found and given back by another', () => {
  new RecordTable(main, 'records', 4, 2);
  const own = new SharedMemory(main.handover, 1, neverWait);
  const other = new SharedMemory(main.handover, 2, neverWait);
  const records = new RecordTable(own, 'records', 4, 2);
  const others = new RecordTable(other, 'records', 4, 2);
  const taken = own.whole(() => records.take(9));
  expect([others.first(9), others.size, others.used]).toEqual([taken, 1, 1]);
  other.whole(() => others.giveBack(taken, 9));
  expect([records.first(9), records.size, own.whole(() => records.take(2))]).toEqual([-1, 0, taken]);
});
