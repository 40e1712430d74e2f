import { expect, test } from 'vitest';
import { type Kept, reuse } from '../../../src/core/index.ts';

interface Options {
  readonly host: string;
  readonly callers: ReadonlySet<string>;
}

test('a part is kept with its content while its key is equal, and made anew otherwise', () => {
  const made: string[] = [];
  const of = (host: string, ...callers: string[]) => ({ host, callers: new Set(callers) });
  const after = (before: Kept<Options, { readonly host: string }> | null, key: Options) =>
    reuse(before, key, ({ host }) => {
      made.push(host);
      return { host };
    });
  const first = after(null, of('a', 'x', 'y'));
  expect(after(first, first.key)).toBe(first);
  expect(after(first, of('a', 'y', 'x'))).toBe(first);
  expect(after(first, of('a', 'x')).part).not.toBe(first.part);
  expect(after(first, of('b', 'x', 'y')).part).toEqual({ host: 'b' });
  expect(made).toEqual(['a', 'a', 'b']);
});

test('a change of one named part leaves the others as they are', () => {
  const plan = (
    before: ReadonlyMap<string, Kept<number, object>>,
    numbers: Readonly<Record<string, number>>,
  ) =>
    new Map(Object.entries(numbers).map(([name, key]) => [name, reuse(before.get(name), key, () => ({}))]));
  const before = plan(new Map(), { a: 1, b: 1, c: 1 });
  const now = plan(before, { c: 1, b: 2, d: 1 });
  expect(now.get('c')).toBe(before.get('c'));
  expect(now.get('b')).not.toBe(before.get('b'));
  expect([...now.keys()]).toEqual(['c', 'b', 'd']);
});

test('what stands for nothing is kept, too', () => {
  const off = reuse<string | null, string | null>(null, null, key => key);
  expect(reuse(off, null, () => 'made')).toBe(off);
});
