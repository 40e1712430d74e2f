import { beforeEach, describe, expect, it } from 'vitest';
import { MarkTable } from '../../../../src/identity/auth/revocation-rules.ts';

let evicted: number[] = [];
const table = (maxEntries: number) => new MarkTable(maxEntries, (_digest, markS) => evicted.push(markS));

beforeEach(() => {
  evicted = [];
});

describe('a table of marks', () => {
  it('keeps the highest mark of each', () => {
    const marks = table(9);
    expect([marks.raise('a', 5, 0), marks.raise('a', 4, 0), marks.raise('a', 5, 0)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([marks.markOf('a'), marks.markOf('b')]).toEqual([5, 0]);
    expect(marks.raise('a', 6, 0)).toBe(true);
    expect([...marks.entries()]).toEqual([['a', 6]]);
  });

  it('takes no mark that is over, nor one that is no number', () => {
    const marks = table(9);
    expect([marks.raise('a', 5, 5), marks.raise('a', Number.NaN, 0), marks.raise('a', 0, -1)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(marks.size).toBe(0);
  });

  it('drops what is over without a word', () => {
    const marks = table(2);
    for (const [name, mark] of [
      ['a', 1],
      ['b', 2],
      ['c', 9],
    ] as const)
      marks.raise(name, mark, 2 * Number(name === 'c'));
    expect([...marks.entries()]).toEqual([['c', 9]]);
    expect(evicted).toEqual([]);
  });

  it('drops the oldest when it is full, and says which', () => {
    const marks = table(2);
    for (const [name, mark] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['b', 4],
      ['d', 5],
    ] as const)
      marks.raise(name, mark, 0);
    expect([...marks.entries()]).toEqual([
      ['b', 4],
      ['d', 5],
    ]);
    expect(evicted).toEqual([1, 3]);
  });
});
