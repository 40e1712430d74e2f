import type { z } from 'zod';

/** Keys of a map in a configuration file, each with its schema, text and default. */
export type PolicyKeys = Readonly<Record<string, z.ZodType>>;

export type PolicyConfig<Keys extends PolicyKeys> = Readonly<z.output<z.ZodObject<Keys>>>;

export function keysOf<Part extends { readonly keys: PolicyKeys }>(
  parts: readonly Part[],
): Intersection<Part['keys']> {
  return Object.assign({}, ...parts.map(({ keys }) => keys));
}

export type ModelsOf<Part extends { compile(...args: never): object }> = Readonly<
  Intersection<ReturnType<Part['compile']>>
>;

/** Turns a union of types into their intersection. */
export type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;
