import { isDeepStrictEqual } from 'node:util';
import type { Steps } from './steps.ts';

export interface Kept<Key, Part> {
  readonly key: Key;
  readonly part: Part;
}

/**
 * The one way in which a reload keeps what it did not change: returns `before` if it was made from an equal key, otherwise a new
 * part. Parts are kept by name (one upstream, one issuer, one listener), so that a change costs that part alone.
 *
 * @param key all that the part depends on and that a reload can change, and nothing else: a revision, a text, or options. The
 *   same object is equal at once; other keys are compared by their content
 * @param isEqual compares keys in another way: lists of parts by `hasSameItems`
 */
export function reuse<Key, Part>(
  before: Kept<Key, Part> | null | undefined,
  key: Key,
  make: (key: Key) => Part,
  isEqual: (one: Key, other: Key) => boolean = isSame,
): Kept<Key, Part> {
  const isKept = before !== null && before !== undefined && isEqual(before.key, key);
  return isKept ? before : { key, part: make(key) };
}

/** The same for what is made of many parts, in steps: it is kept while all of them are the same objects, in the same order. */
export function* reuseInSteps<Part, Whole>(
  before: Kept<readonly Part[], Whole> | null | undefined,
  parts: readonly Part[],
  make: () => Steps<Whole>,
): Steps<Kept<readonly Part[], Whole>> {
  const isKept = before !== null && before !== undefined && hasSameItems(before.key, parts);
  return isKept ? before : { key: parts, part: yield* make() };
}

/** Whether two keys are equal. For new parts that take over something from a previous part. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  // Most lists contain objects that a reload has reused. Comparing them in depth takes 20 times as long.
  if (Array.isArray(one) && Array.isArray(other) && hasSameItems(one, other)) return true;
  return isDeepStrictEqual(one, other);
}

/** Whether two lists have the same objects in the same order. For parts with private state, which `isSame` does not compare. */
export function hasSameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}
