import { z } from 'zod';

const MARKS = z.registry<Record<string, never>>();

/**
 * Marks a key whose default depends on the memory that the process may use: the loader fills it in before it validates a file
 * (`compile/memory-defaults.ts`), so the default of the schema is only the maximum.
 */
export function byMemory<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, {});
  return schema;
}

/** Whether the default of a key depends on the memory. */
export function isByMemory(schema: z.core.$ZodType): boolean {
  return MARKS.has(schema as z.ZodType);
}

/** Begins the sentence about a default that depends on the memory; the full number ends it. */
export const BY_MEMORY = 'Default: by the memory that the process may use (docs/memory.md), at most';
