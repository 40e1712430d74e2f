import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { valuesSchema } from '../../scripts/chart/values.ts';
import { CHART } from './chart.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The schema of every value by its path; maps with known keys are resolved into these. */
function leaves(schema: JsonSchema, path = ''): [string, JsonSchema][] {
  if (schema.properties === undefined) return [[path, schema]];
  return Object.entries(schema.properties).flatMap(([key, inner]) =>
    leaves(inner as JsonSchema, path === '' ? key : `${path}.${key}`),
  );
}

const TEXT = readFileSync(join(CHART, 'values.yaml'), 'utf8');
const VALUES = leaves(z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' }));

function valueAt(path: string): unknown {
  return path.split('.').reduce((value: unknown, key) => Object(value)[key], parse(TEXT));
}

describe('values.yaml', () => {
  it.each(VALUES.filter(([path]) => path !== 'global'))('shows %s with its default', (path, schema) => {
    if (schema.default !== undefined) expect(valueAt(path)).toEqual(schema.default);
    else expect(TEXT).toMatch(new RegExp(`^ *#${path.split('.').at(-1)}: `, 'm'));
  });
});

describe('the definition of the values', () => {
  it.each(VALUES)('describes %s', (_, schema) => {
    expect(schema.description).toMatch(/\.$/);
  });
});
