import { z } from 'zod';
import { alternativesOf, partAt } from './schema-parts.ts';

/**
 * What a change of a key means to callers; without a mark, nothing.
 * - `maximum`: a lower number refuses earlier
 * - `door`: decides whose tokens, codes and pages are accepted, so any change may turn someone away
 * - `byRoute`: compared for each route that it applies to, and not by itself
 */
export type Meaning = 'maximum' | 'door' | 'byRoute';

interface Mark {
  readonly meaning: Meaning;
  /** Whether the mark is only about adding or removing the whole map, not about the keys in it. */
  readonly wholeOnly: boolean;
}

const MARKS = z.registry<Mark>();

/** Marks a key, and all keys in it, for `weir diff`. */
export function means<Schema extends z.ZodType>(meaning: Meaning, schema: Schema): Schema {
  MARKS.add(schema, { meaning, wholeOnly: false });
  return schema;
}

/** Marks a map whose addition or removal may turn callers away, although most of its keys do not. */
export function doorAsWhole<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, { meaning: 'door', wholeOnly: true });
  return schema;
}

/** Finds the nearest mark at or above a path. Entries of lists and of maps with free names may have any name. */
export function meaningAt(schema: z.core.$ZodType, path: readonly string[]): Meaning | null {
  const [key, ...rest] = path;
  const part = key === undefined ? undefined : partAt(schema, key);
  if (part !== undefined) return meaningAt(part, rest) ?? ownMeaning(schema, false);
  const ways = alternativesOf(schema).map(way => meaningAt(way, path));
  return ways.find(found => found !== null) ?? ownMeaning(schema, key === undefined);
}

function ownMeaning(schema: z.core.$ZodType, isWhole: boolean): Meaning | null {
  const mark = MARKS.get(schema as z.ZodType);
  return mark === undefined || (mark.wholeOnly && !isWhole) ? null : mark.meaning;
}
