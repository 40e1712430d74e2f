import type { z } from 'zod';

/** Keys of a map in a configuration file, each with its schema, text and default. */
export type PolicyKeys = Readonly<Record<string, z.ZodType>>;

/** The values of these keys after validation. */
export type PolicyConfig<Keys extends PolicyKeys> = Readonly<z.output<z.ZodObject<Keys>>>;

/** Turns a union of types into a type that is all of them. */
export type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;
