import { z } from 'zod';
import { isMap } from '../file/index.ts';
import { limitsSchema } from '../limits/index.ts';
import { apiKeysFileSchema, gatewaySchema } from '../settings/index.ts';
import { marksOf } from '../values/index.ts';
import { testSchema } from './test-schema.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const SCHEMAS = { gateway: gatewaySchema, limits: limitsSchema, keys: apiKeysFileSchema, test: testSchema };

/**
 * Makes the JSON Schema of a file from the definition that validates it: draft 7, which every editor understands. It describes the
 * file as written, before variables are resolved, and does not cover the cross-checks. It is named after the file next to the
 * configuration in which editors find it.
 */
export function jsonSchemaOf(name: keyof typeof SCHEMAS): JsonSchema {
  const made = z.toJSONSchema(SCHEMAS[name], {
    io: 'input',
    target: 'draft-7',
    // A default that depends on the machine is described in words.
    override: ({ zodSchema, jsonSchema }) => {
      if (marksOf(zodSchema).byMemory === true) delete jsonSchema.default;
    },
  });
  allowVariables(made);
  return { $id: `${name}.schema.json`, title: `${name}.yaml of Weir`, ...made };
}

const VARIABLE = '\\$\\{';

/** Allows a variable in place of any value; keys cannot be variables. */
function allowVariables(schema: JsonSchema): void {
  const within = [
    ...Object.values(schema.properties ?? {}),
    schema.additionalProperties,
    schema.items,
    ...(schema.anyOf ?? []),
  ];
  for (const part of within) if (isMap(part)) allowVariables(part as JsonSchema);
  allowVariable(schema);
}

function allowVariable(schema: JsonSchema): void {
  const { type, pattern, enum: words, const: word, minimum, maximum } = schema;
  if (type === 'string' && words === undefined && word === undefined) {
    if (pattern?.includes(VARIABLE) === false) schema.pattern = `${pattern}|${VARIABLE}`;
    return;
  }
  if (!SCALARS.has(String(type))) return;
  for (const key of CONSTRAINTS) delete schema[key];
  const given = Object.entries({ type, enum: words, const: word, minimum, maximum });
  const plain = Object.fromEntries(given.filter(([, constraint]) => constraint !== undefined));
  schema.anyOf = [plain, { type: 'string', pattern: VARIABLE }];
}

const SCALARS: ReadonlySet<string> = new Set(['string', 'integer', 'number', 'boolean']);
const CONSTRAINTS = ['type', 'enum', 'const', 'minimum', 'maximum'] as const;
