import { z } from 'zod';
import { gatewayJsonSchema, limitsJsonSchema } from '../../src/config/index.ts';
import { valuesSchema } from './values.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Makes the JSON Schema by which Helm checks the chart's values: draft 7, which Helm 3 and 4 know. */
export function chartSchema(): JsonSchema {
  const schema = z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' });
  const { config, limits, ...rest } = schema.properties ?? {};
  return {
    ...schema,
    title: 'Values of the chart of Weir',
    properties: {
      ...rest,
      config: within(config, gatewayJsonSchema()),
      limits: within(limits, limitsJsonSchema()),
    },
  };
}

/** Puts the schema of a configuration file in the place of a value. */
function within(value: unknown, file: JsonSchema): JsonSchema {
  const { $id, $schema, title, ...schema } = file;
  return { ...(value as JsonSchema), ...offOrFalse(withoutLookaround(schema)) };
}

/** Takes false wherever "off" is taken: Helm speaks YAML 1.1, in which these are the same. */
function offOrFalse<Part>(part: Part): Part | object {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map(offOrFalse);
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, offOrFalse(value)]));
  const { description, default: byDefault, ...rest } = inner;
  if (!isOff(rest)) return inner;
  const about = {
    ...(description && { description }),
    ...(byDefault !== undefined && { default: byDefault }),
  };
  return { ...about, anyOf: [rest, { const: false }] };
}

function isOff({ const: word, pattern }: Readonly<Record<string, unknown>>): boolean {
  return word === 'off' || /\boff\b/.test(String(pattern));
}

/** Drops the patterns that Go's regular expressions cannot say. "weir check" in the init container knows them. */
function withoutLookaround(schema: JsonSchema): JsonSchema {
  const isUnknownToGo = (key: string, value: unknown) =>
    key === 'pattern' && /\(\?<?[=!]/.test(String(value));
  return JSON.parse(JSON.stringify(schema, (key, value) => (isUnknownToGo(key, value) ? undefined : value)));
}
