import type { z } from 'zod';

type Schema = z.core.$ZodType;

/** Unwraps a schema into the alternatives for its value; none for maps, lists, text and numbers. */
export function alternativesOf(schema: Schema): readonly Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'union':
      return def.options;
    case 'optional':
    case 'prefault':
      return [def.innerType];
    case 'pipe':
      return [def.in];
    default:
      return [];
  }
}

/** Returns what a value may be, without any wrapper. */
export function possibleSchemas(schema: Schema): readonly Schema[] {
  const ways = alternativesOf(schema);
  return ways.length === 0 ? [schema] : ways.flatMap(possibleSchemas);
}

/** The schema of a key of a map, or of an entry of a list; `undefined` for anything else. */
export function partAt(schema: Schema, key: PropertyKey | undefined): Schema | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return def.shape[String(key)];
    case 'record':
      return def.valueType;
    case 'array':
      return def.element;
    default:
      return undefined;
  }
}

/** The keys that a map may have, with their schemas; none for a map whose keys the operator chooses. */
export function keysIn(schema: Schema): Readonly<Record<string, Schema>> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? def.shape : Object.assign({}, ...alternativesOf(schema).map(keysIn));
}

/** The same for the map at a path. */
export function keysAt(schema: Schema, [key, ...rest]: readonly PropertyKey[]): readonly string[] {
  if (key === undefined) return Object.keys(keysIn(schema));
  const parts = possibleSchemas(schema).flatMap(way => partAt(way, key) ?? []);
  return parts.flatMap(part => keysAt(part, rest));
}
