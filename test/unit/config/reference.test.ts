import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { gatewayJsonSchema, type JsonSchema, loadConfig } from '../../../src/config/index.ts';

const FILE = 'config/gateway.yaml';
let text: string;

beforeAll(async () => {
  text = await readFile(FILE, 'utf8');
});

/** A key of the schema that holds no further keys: `upstreams.*.timeouts.connect`, with its default. */
type Leaf = readonly [path: string, fallback: unknown];

function leavesOf(schema: JsonSchema, path: readonly string[] = []): Leaf[] {
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([key, part]) =>
      leavesOf(part as JsonSchema, [...path, key]),
    );
  }
  for (const part of [schema.additionalProperties, schema.items]) {
    if (typeof part === 'object' && part !== null && 'properties' in part)
      return leavesOf(part as JsonSchema, [...path, '*']);
  }
  return [[path.join('.'), schema.default]];
}

/** All values that the file gives for a path of the schema. */
function valuesAt(value: unknown, path: string): unknown[] {
  return path.split('.').reduce<unknown[]>(
    (values, step) =>
      values.flatMap(here => {
        if (typeof here !== 'object' || here === null) return [];
        if (step === '*') return Object.values(here);
        return step in here ? [(here as Record<string, unknown>)[step]] : [];
      }),
    [value],
  );
}

describe('config/gateway.yaml', () => {
  it('is a configuration without mistakes or warnings, and needs no variable', async () => {
    expect(await loadConfig(FILE, { env: {}, generation: 1 })).toMatchObject({ ok: true, warnings: [] });
  });

  it('begins with its name', () => {
    expect(text.split('\n')[0]).toBe(`# ${FILE}`);
  });

  const leaves = leavesOf(gatewayJsonSchema());

  it('is compared with all of the schema', () => {
    expect(leaves.length).toBeGreaterThan(30);
    expect(leaves.map(([path]) => path)).toEqual(
      expect.arrayContaining([
        'listen.http',
        'upstreams.*.timeouts.connect',
        'routes.*.methods',
        'log.access',
      ]),
    );
  });

  it.each(leaves)('lists %s, with its default where it has one', (path, fallback) => {
    const values = valuesAt(parse(text), path);
    expect(values).not.toEqual([]);
    if (fallback !== undefined) expect(values).toContainEqual(fallback);
  });

  it('has a comment above every key, where it stands for the first time', () => {
    const lines = text.split('\n');
    const seen = new Set(['  api']);
    const bare = lines.filter((line, index) => {
      // With its indent, which tells keys of one name apart.
      const key = /^( *(- )?\w+):/.exec(line)?.[1];
      if (key === undefined || seen.has(key)) return false;
      seen.add(key);
      return !/^ *#/.test(lines[index - 1] ?? '');
    });
    expect(bare).toEqual([]);
    expect(seen.size).toBeGreaterThan(40);
  });
});
