import { z } from 'zod';
import type { Path, Secrecy } from '../file/index.ts';
import { marked, marksOf } from './marks.ts';
import { alternativesOf, partAt } from './schema-parts.ts';

/** Marks a secret: it must come from a variable, and no message repeats its value or the rest of its line. */
export function secret(key: string) {
  const text = z.string({ error: secretInFile(key) }).meta({ pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$' });
  return marked(text, { secrecy: 'secret' });
}

/** Returns what to write instead of a secret. Every secret has a sibling key that names a file. */
export function secretInFile(key: string): string {
  return `this file must not contain secrets: write "\${NAME}" to read an environment variable, or name a file with ${key}_file`;
}

/** Derives from a schema's marks what messages must not repeat. */
export function secrecyOf(schema: z.ZodType): Secrecy {
  return { keys: secretPaths(schema).map(path => String(path.at(-1))), hides: path => hides(schema, path) };
}

/** Represents every index of a list in a path. */
export const EACH = '*';

/** The paths of all secrets, with `EACH` for list entries. None is in a map whose keys the operator chooses. */
export function secretPaths(schema: z.core.$ZodType, path: Path = []): Path[] {
  if (marksOf(schema).secrecy === 'secret') return [path];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return secretPaths(def.element, [...path, EACH]);
  if (def.type !== 'object') return alternativesOf(schema).flatMap(way => secretPaths(way, path));
  return Object.entries(def.shape).flatMap(([key, part]) => secretPaths(part, [...path, key]));
}

/** Whether the value at a path is hidden. A text written instead of a map may be the map's intended content. */
function hides(schema: z.core.$ZodType, path: Path): boolean {
  const { secrecy: kind } = marksOf(schema);
  const [key, ...rest] = path;
  if (kind === 'secret' || kind === 'unshown') return true;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object' && key === undefined)
    return Object.values(def.shape).some(part => hides(part, []));
  const part = partAt(schema, key);
  if (part !== undefined) return hides(part, rest);
  const ways = alternativesOf(schema);
  // If texts are allowed here as well, a text was not meant as the content of a map.
  const texts = key === undefined ? ways.filter(takesText) : [];
  return (texts.length > 0 ? texts : ways).some(way => hides(way, path));
}

function takesText(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'string' || alternativesOf(schema).some(takesText);
}
