import { expect, test } from 'vitest';
import { atOnce, hasSameItems, type Kept, reuse, reuseInSteps, type Steps } from '../../../src/core/index.ts';

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

/** Like most compiled parts, it shows nothing of its content. */
class Secretive {
  readonly #content: number;
  constructor(content: number) {
    this.#content = content;
  }
  get content(): number {
    return this.#content;
  }
}

test('what is made of parts is made anew if one of them is another object, although both look alike', () => {
  const [one, two] = [new Secretive(1), new Secretive(2)];
  const first = reuse(null, [one], ([part]) => part?.content, hasSameItems);
  expect(reuse(first, [one], () => 0, hasSameItems)).toBe(first);
  expect(reuse(first, [two], ([part]) => part?.content, hasSameItems).part).toBe(2);
});

test('in steps, what is made of the same parts takes no step, and of others as many as it needs', () => {
  function* sum(parts: readonly Secretive[]): Steps<number> {
    yield;
    return parts.reduce((total, { content }) => total + content, 0);
  }
  const parts = [new Secretive(1), new Secretive(2)];
  const first = atOnce(reuseInSteps(null, parts, () => sum(parts)));
  expect(first.part).toBe(3);
  expect(reuseInSteps(first, [...parts], () => sum(parts)).next()).toEqual({ done: true, value: first });
  const others = parts.toReversed();
  const next = reuseInSteps(first, others, () => sum(others));
  expect(next.next().done).toBe(false);
  expect(atOnce(next).key).toBe(others);
});
