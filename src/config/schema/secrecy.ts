import { z } from 'zod';

import type { Path, Secrecy } from '../file/index.ts';

/** What `isSecret` is false for is no secret, yet one may stand in its place by mistake. */
const MARKS = z.registry<{ readonly isSecret: boolean }>();

/**
 * Marks a secret. It is given as a variable of the environment alone, and no message repeats its value or anything else in
 * its line.
 */
export function secret(key: string) {
  return z
    .string({ error: secretInFile(key) })
    .meta({ pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$' })
    .register(MARKS, { isSecret: true });
}

/** What to write in place of a secret. Next to each secret stands a key for the name of a file. */
export function secretInFile(key: string): string {
  return `this file must not contain secrets: write "\${NAME}" to read an environment variable, or name a file with ${key}_file`;
}

/** Marks a path or an address: people put a secret in its place, or a password in the address. No message repeats its value. */
export function unshown<Schema extends z.ZodType>(schema: Schema): Schema {
  MARKS.add(schema, { isSecret: false });
  return schema;
}

/** What the marks in a schema keep out of messages. */
export function secrecyOf(schema: z.ZodType): Secrecy {
  return { keys: secretPaths(schema).map(path => String(path.at(-1))), hides: path => hides(schema, path) };
}

/** The paths of all secrets. None is in a list, or in a map whose keys the operator chooses. */
export function secretPaths(schema: z.core.$ZodType, path: Path = []): Path[] {
  if (MARKS.get(schema as z.ZodType)?.isSecret === true) return [path];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type !== 'object') return waysOf(schema).flatMap(way => secretPaths(way, path));
  return Object.entries(def.shape).flatMap(([key, part]) => secretPaths(part, [...path, key]));
}

/** A text in place of a map may be what was meant to be in it. */
function hides(schema: z.core.$ZodType, path: Path): boolean {
  if (MARKS.has(schema as z.ZodType)) return true;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const [key, ...rest] = path;
  switch (def.type) {
    case 'object': {
      if (key === undefined) return Object.values(def.shape).some(part => hides(part, []));
      const part = def.shape[key];
      return part !== undefined && hides(part, rest);
    }
    case 'record':
      return hides(def.valueType, rest);
    case 'array':
      return hides(def.element, rest);
    default: {
      const ways = waysOf(schema);
      // Where a text is one of the ways to write a value, a text was meant to be that and not a map.
      const texts = key === undefined ? ways.filter(takesText) : [];
      return (texts.length > 0 ? texts : ways).some(way => hides(way, path));
    }
  }
}

function takesText(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'string' || waysOf(schema).some(takesText);
}

/** The ways to write a value, without what wraps them; none where it is a text or a number. */
function waysOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
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
