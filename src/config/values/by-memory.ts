import { z } from 'zod';
import { count } from './plain-values.ts';

const MARKS = z.registry<Record<string, never>>();

/**
 * Marks a key whose default depends on the memory that the process may use: the loader fills it in before it validates a file
 * (`settings/memory.ts`), so the default of the schema is only the maximum.
 */
export function byMemory<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, {});
  return schema;
}

export function isByMemory(schema: z.core.$ZodType): boolean {
  return MARKS.has(schema as z.ZodType);
}

/** A whole number from 1 to `max` that defaults to `most`, or to less where the memory is small. `text` describes it. */
export function countByMemory(max: number, most: number, text: string) {
  const otherwise = `Default: by the memory that the process may use (docs/memory.md), at most ${most}.`;
  return byMemory(count(max).prefault(most).describe(`${text} ${otherwise}`));
}
