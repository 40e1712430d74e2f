import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonSchemaOf } from '../../src/config/index.ts';
import { ROOT } from '../manifest.ts';
import { valuesSchema } from './values.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Makes the JSON Schema by which Helm checks the chart's values: draft 7, which Helm 3 and 4 know. */
export function chartSchema(): JsonSchema {
  const schema = z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' });
  const { config, limits, ...rest } = schema.properties ?? {};
  // weir.check in the chart's templates asks for these, in one list with all else that is missing.
  const { required, ...gateway } = jsonSchemaOf('gateway');
  const definitions = new Map<string, unknown>();
  return {
    ...schema,
    title: 'Values of the chart of Weir',
    properties: {
      ...(withKubernetesTypes(rest, definitions) as typeof rest),
      config: within(config, gateway),
      limits: within(limits, jsonSchemaOf('limits')),
    },
    definitions: Object.fromEntries(Array.from(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  } as JsonSchema;
}

/** The newest Kubernetes that the chart supports: its types have all fields of the older ones. */
const KUBERNETES: { readonly $defs: Readonly<Record<string, unknown>> } = JSON.parse(
  readFileSync(join(ROOT, 'test/chart/schemas/kubernetes-1.37.json'), 'utf8'),
);

/** Replaces each map that is marked as a type of Kubernetes' by this type, and adds the type to the definitions. */
function withKubernetesTypes(part: unknown, definitions: Map<string, unknown>): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map(inner => withKubernetesTypes(inner, definitions));
  const { kubernetes, ...schema } = part as Readonly<Record<string, unknown>>;
  if (typeof kubernetes === 'string') {
    const { type, propertyNames, additionalProperties, ...about } = schema;
    return { ...about, allOf: [define(`io.k8s.api.${kubernetes}`, definitions)] };
  }
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, withKubernetesTypes(inner, definitions)]),
  );
}

/** Adds a type and those that it consists of. */
function define(name: string, definitions: Map<string, unknown>): JsonSchema {
  const short = name.split('.').slice(-2).join('.');
  if (!definitions.has(short)) {
    const type = KUBERNETES.$defs[name];
    if (type === undefined) throw new Error(`Kubernetes has no type ${name}`);
    definitions.set(short, undefined);
    definitions.set(
      short,
      JSON.parse(JSON.stringify(type), (key, value) =>
        key === '$ref' ? define(String(value).replace('#/$defs/', ''), definitions).$ref : value,
      ),
    );
  }
  return { $ref: `#/definitions/${short}` };
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
