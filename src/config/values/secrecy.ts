import { z } from 'zod';
import type { Path, Secrecy } from '../file/index.ts';
import { alternativesOf, partAt } from './schema-parts.ts';

/**
 * - `secret`: must come from an environment variable
 * - `unshown`: not a secret, but people often put one there by mistake
 * - `shown`: a map; a text written instead of it is not a secret, although the map contains `unshown` values
 */
const MARKS = z.registry<{ readonly kind: 'secret' | 'unshown' | 'shown' }>();

/**
 * Marks a secret. It must come from an environment variable, and no message repeats its value or the rest of its line.
 */
export function secret(key: string) {
  return z
    .string({ error: secretInFile(key) })
    .meta({ pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$' })
    .register(MARKS, { kind: 'secret' });
}

/** Returns what to write instead of a secret. Every secret has a sibling key that names a file. */
export function secretInFile(key: string): string {
  return `this file must not contain secrets: write "\${NAME}" to read an environment variable, or name a file with ${key}_file`;
}

/** Marks a path or an address, where people may put a secret or a password by mistake. No message repeats its value. */
export function unshown<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, { kind: 'unshown' });
  return schema;
}

/** Marks a map for which people write a text by mistake, so that messages can say what was meant. */
export function shown<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, { kind: 'shown' });
  return schema;
}

/** The mark of a schema; `undefined` if it has none. */
export function markOf(schema: z.core.$ZodType) {
  return MARKS.get(schema as z.ZodType);
}

/** Derives from a schema's marks what messages must not repeat. */
export function secrecyOf(schema: z.ZodType): Secrecy {
  return { keys: secretPaths(schema).map(path => String(path.at(-1))), hides: path => hides(schema, path) };
}

/** Represents every index of a list in a path. */
export const EACH = '*';

/**
 * Returns the paths of all secrets, with `EACH` for the entries of a list. No secret is in a map whose keys the operator chooses.
 */
export function secretPaths(schema: z.core.$ZodType, path: Path = []): Path[] {
  if (markOf(schema)?.kind === 'secret') return [path];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return secretPaths(def.element, [...path, EACH]);
  if (def.type !== 'object') return alternativesOf(schema).flatMap(way => secretPaths(way, path));
  return Object.entries(def.shape).flatMap(([key, part]) => secretPaths(part, [...path, key]));
}

/** Whether the value at a path is hidden. A text written instead of a map may be the map's intended content. */
function hides(schema: z.core.$ZodType, path: Path): boolean {
  const kind = markOf(schema)?.kind;
  const [key, ...rest] = path;
  if (kind === 'secret' || kind === 'unshown') return true;
  if (kind === 'shown' && key === undefined) return false;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object' && key === undefined)
    return Object.values(def.shape).some(part => hides(part, []));
  const part = partAt(schema, key);
  if (part !== undefined) return hides(part, rest);
  const ways = alternativesOf(schema);
  // If the value may also be a text, a text was meant as such, and not as a map.
  const texts = key === undefined ? ways.filter(takesText) : [];
  return (texts.length > 0 ? texts : ways).some(way => hides(way, path));
}

function takesText(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'string' || alternativesOf(schema).some(takesText);
}
