import { z } from 'zod';

import { gatewaySchema } from './gateway-schema.ts';
import { limitsSchema } from './limits-schema.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * The JSON Schema of gateway.yaml, draft 7 (which every editor understands), made of the definition that validates. It
 * describes the file as written, before variables are resolved. What one part says about another is not in it.
 */
export function gatewayJsonSchema(): JsonSchema {
  return { title: 'gateway.yaml of Weir', ...draft7(gatewaySchema) };
}

/** The same of limits.yaml. */
export function limitsJsonSchema(): JsonSchema {
  return { title: 'limits.yaml of Weir', ...draft7(limitsSchema) };
}

function draft7(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7', override: allowVariable });
}

/** A value with a grammar may come from a variable: only its text is known then. */
function allowVariable(context: {
  readonly jsonSchema: JsonSchema;
  readonly path: readonly (string | number)[];
}): void {
  const { jsonSchema: schema, path } = context;
  if (schema.type !== 'string' || path.at(-1) === 'propertyNames') return;
  // A value that is parsed after it was matched passes here once for each of these steps.
  if (schema.pattern?.includes(VARIABLE) === false) schema.pattern += `|${VARIABLE}`;
  const { enum: words, const: word } = schema;
  if (words === undefined && word === undefined) return;
  delete schema.type;
  delete schema.enum;
  delete schema.const;
  schema.anyOf = [
    words === undefined ? { type: 'string', const: word ?? null } : { type: 'string', enum: words },
    { type: 'string', pattern: VARIABLE },
  ];
}

const VARIABLE = '\\$\\{';

/** The keys that a map at `path` in a file may have. */
export function keysAt(schema: JsonSchema, path: readonly PropertyKey[]): string[] {
  return waysAt(schema, path).flatMap(way => Object.keys(way.properties ?? {}));
}

/** The schemas of what stands at `path`: several where it may be written in several ways, none where there is none. */
function waysAt(schema: JsonSchema, path: readonly PropertyKey[]): JsonSchema[] {
  const [key, ...rest] = path;
  const ways = [schema, ...(schema.anyOf ?? [])].filter(isSchema);
  if (key === undefined) return ways;
  return ways
    .map(way =>
      typeof key === 'number' ? way.items : (way.properties?.[String(key)] ?? way.additionalProperties),
    )
    .filter(isSchema)
    .flatMap(inner => waysAt(inner, rest));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
