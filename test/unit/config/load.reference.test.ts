import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type JsonSchema, jsonSchemaOf, loadConfig } from '../../../src/config/index.ts';
import { diagnosticsOf, loadFiles } from '../../support/config-text.ts';

const gateway = await readFile('config/gateway.yaml', 'utf8');
const limits = await readFile('config/limits.yaml', 'utf8');

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
  // Of what may be written in several ways also the keys of the one that has keys.
  const ways = (schema.anyOf ?? []).filter(way => 'properties' in way);
  const { default: fallback } = schema;
  // An empty map stands for the defaults of its keys, which are told with each.
  const isOfKeys = ways.length > 0 && JSON.stringify(fallback) === '{}';
  return [[path.join('.'), isOfKeys ? undefined : fallback], ...ways.flatMap(way => leavesOf(way, path))];
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

/** The file with the keys that stand behind a "#": prose has one blank there, these none or two. At its top is only prose. */
function withEveryKey(text: string): string {
  const top = text.search(/^\w/m);
  return text.slice(0, top) + text.slice(top).replaceAll(/^( *)#(?! [^ ])(?=.)/gm, '$1');
}

/** The comment above the first line with the last key of this path; one at the top is not taken for one further in. */
function commentOf(text: string, path: string): string {
  const lines = text.split('\n');
  const [key = '', ...above] = path.split('.').reverse();
  const at = lines.findIndex(line => new RegExp(`^${above.length > 0 ? ' +' : ''}#?${key}:`).test(line));
  const from = lines.slice(0, at).findLastIndex(line => !/^ *#/.test(line));
  return lines.slice(from + 1, at).join('\n');
}

/**
 * An entry of identity_providers has the keys of two other sections, which the file explains there, and `defaults` has those of
 * routes.
 */
function isExplainedElsewhere([path, fallback]: Leaf, _: number, leaves: readonly Leaf[]): boolean {
  const [, ofRoutes] = /^defaults\.(.*)$/.exec(path) ?? [];
  if (ofRoutes !== undefined) return leaves.some(([other]) => other === `routes.*.${ofRoutes}`);
  const [, key] = /^identity_providers\.\*\.(.*)$/.exec(path) ?? [];
  const twin = leaves.find(
    ([other]) => other === `identity_provider.${key}` || other === `access_tokens.${key}`,
  );
  return key !== undefined && twin !== undefined && JSON.stringify(twin[1]) === JSON.stringify(fallback);
}

const leavesOfGateway = leavesOf(jsonSchemaOf('gateway')).filter((...leaf) => !isExplainedElsewhere(...leaf));
const leavesOfLimits = leavesOf(jsonSchemaOf('limits'));

describe('config/gateway.yaml', () => {
  it('is a configuration without errors or warnings, together with limits.yaml', async () => {
    const env = { OIDC_CLIENT_SECRET: 'secret' };
    expect(await loadConfig('config/gateway.yaml', { env, generation: 1 })).toMatchObject({
      ok: true,
      warnings: [],
      files: ['config/gateway.yaml', 'config/limits.yaml'],
    });
  });

  it('needs one variable, and says so at its top', () => {
    const inForce = gateway.replaceAll(/^ *#.*$/gm, '');
    expect(inForce.match(/\$\{[A-Z_]{5,}\}/g)).toEqual(['$' + '{OIDC_CLIENT_SECRET}']);
    expect(gateway.slice(0, gateway.indexOf('listen:'))).toContain('OIDC_CLIENT_SECRET');
  });

  it('is compared with all of the schema', () => {
    expect(leavesOfGateway.length).toBeGreaterThan(60);
    expect(leavesOfGateway.map(([path]) => path)).toEqual(
      expect.arrayContaining([
        'listen.http',
        'upstreams.*.timeouts.connect',
        'routes.*.methods',
        'identity_provider.tls.ca_file',
        'access_tokens.bots',
        'access_tokens.bots.claim',
        'log.access',
      ]),
    );
    expect(leavesOfLimits.map(([path]) => path)).toEqual(
      expect.arrayContaining(['global.bot', 'invalid_requests.restrict_for', 'buckets.*.main', 'routes']),
    );
  });

  it('has behind a "#" nothing but keys that exist', async () => {
    const files = { 'gateway.yaml': withEveryKey(gateway), 'limits.yaml': limits };
    expect(files['gateway.yaml']).toMatch(/^ {4}ca_file:/m);
    const diagnostics = diagnosticsOf(await loadFiles(files, { OIDC_CLIENT_SECRET: 'secret' }));
    expect(diagnostics.join('\n')).toContain('"private_key_file" has no effect');
    expect(diagnostics.join('\n')).not.toMatch(/unknown key|missing key|expected/);
  });
});

describe.each([
  ['config/gateway.yaml', gateway, leavesOfGateway],
  ['config/limits.yaml', limits, leavesOfLimits],
])('%s', (file, text, leaves) => {
  it('begins with its name', () => {
    expect(text.split('\n')[0]).toBe(`# ${file}`);
  });

  it.each(leaves)('lists %s, with its default where it has one', (path, fallback) => {
    const values = valuesAt(parse(withEveryKey(text)), path);
    expect(values).not.toEqual([]);
    if (fallback === undefined || values.some(value => JSON.stringify(value) === JSON.stringify(fallback)))
      return;
    const shown = typeof fallback === 'string' ? fallback : JSON.stringify(fallback);
    expect(commentOf(text, path)).toContain(`Default: ${shown}`);
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
    expect(seen.size).toBeGreaterThan(leaves.length / 3);
  });
});
