import type { z } from 'zod';

/** Keys of a map in a configuration file, each with its schema, text and default. */
export type PolicyKeys = Readonly<Record<string, z.ZodType>>;

/** The values of these keys after validation. */
export type PolicyConfig<Keys extends PolicyKeys> = Readonly<z.output<z.ZodObject<Keys>>>;

/** The keys of several parts in one map. */
export function keysOf<Part extends { readonly keys: PolicyKeys }>(
  parts: readonly Part[],
): Intersection<Part['keys']> {
  return Object.assign({}, ...parts.map(({ keys }) => keys));
}

/** The combined models of several parts. */
export type ModelsOf<Part extends { compile(...args: never): object }> = Intersection<
  ReturnType<Part['compile']>
>;

/** Turns a union of types into their intersection. */
type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** Other gateways' words for a key, grouped by the advice for someone who writes one: `{ 'write cors: false': ['no_cors'] }`. */
export type OtherWords = Readonly<Record<string, readonly string[]>>;

/** Returns the advice for each of other gateways' words. */
export function otherWordsOf(
  parts: readonly { readonly otherWords?: OtherWords }[],
): Readonly<Record<string, string>> {
  const told = parts.flatMap(({ otherWords = {} }) => Object.entries(otherWords));
  return Object.fromEntries(told.flatMap(([how, words]) => words.map(word => [word, how])));
}
