import { z } from 'zod';

import { gatewaySchema } from './gateway-schema.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * The JSON Schema of gateway.yaml, draft 7 (which every editor understands), made of the definition that validates. It
 * describes the file as written, before variables are resolved. What one part says about another is not in it.
 */
export function gatewayJsonSchema(): JsonSchema {
  return {
    title: 'gateway.yaml of Weir',
    ...z.toJSONSchema(gatewaySchema, { io: 'input', target: 'draft-7', override: allowVariable }),
  };
}

/** A value with a grammar may come from a variable: only its text is known then. */
function allowVariable(context: {
  readonly jsonSchema: JsonSchema;
  readonly path: readonly (string | number)[];
}): void {
  const { jsonSchema: schema, path } = context;
  if (schema.type !== 'string' || path.at(-1) === 'propertyNames') return;
  // A value that is parsed after it was matched passes here once for each of these steps.
  if (schema.pattern?.endsWith(VARIABLE) === false) schema.pattern += `|${VARIABLE}`;
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

/** The schema of what stands at `path` in a file, or undefined where there is none. */
export function schemaAt(schema: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined {
  let here: unknown = schema;
  for (const key of path) {
    if (!isSchema(here)) return undefined;
    if (typeof key === 'number') here = here.items;
    else here = here.properties?.[String(key)] ?? here.additionalProperties;
  }
  return isSchema(here) ? here : undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
