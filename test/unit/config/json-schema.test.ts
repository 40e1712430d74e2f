import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { gatewayJsonSchema, type JsonSchema } from '../../../src/config/index.ts';
import { NEEDED } from '../../support/config-text.ts';

const schema = gatewayJsonSchema();
const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

/** Paths of what a file would get wrong by the JSON Schema alone. */
function refusedIn(text: string): string[] {
  const result = validator.safeParse(parse(text));
  return (result.error?.issues ?? []).map(issue => issue.path.join('.'));
}

/** Every schema within, by the path of its keys. */
function* parts(part: JsonSchema, path = ''): Generator<readonly [string, JsonSchema]> {
  yield [path, part];
  for (const [key, child] of Object.entries(part.properties ?? {}))
    yield* parts(child as JsonSchema, `${path}.${key}`);
  for (const child of [part.items, part.additionalProperties]) {
    if (typeof child === 'object' && child !== null) yield* parts(child as JsonSchema, `${path}.*`);
  }
}

describe('the JSON Schema of gateway.yaml', () => {
  it('is of draft 7, which every editor understands', () => {
    expect(schema.$schema).toBe('http://json-schema.org/draft-07/schema#');
  });

  it('accepts the shipped configuration', async () => {
    expect(refusedIn(await readFile('config/gateway.yaml', 'utf8'))).toEqual([]);
  });

  it.each([
    ['an unknown key', `foo: 1\n${NEEDED}`],
    ['an unknown key in a section', `log: { foo: 1 }\n${NEEDED}`],
    ['a missing key', 'upstreams: {}\n'],
    ['a wrong type', `log: { access: 1 }\n${NEEDED}`],
    ['a word that is none of those', `log: { level: loud }\n${NEEDED}`],
    ['a time without a unit', `timeouts: { keep_alive: "75" }\n${NEEDED}`],
    ['a number that is too large', `caps: { fields: 1001 }\n${NEEDED}`],
    ['a name that is none', `upstreams: { "a b": { url: "http://a" } }\nroutes: []\n`],
    [
      'a method that is none',
      `upstreams: {}\nroutes: [{ path: /, upstream: a, authentication: none, methods: [get] }]\n`,
    ],
  ])('refuses %s', (_, text) => {
    expect(refusedIn(text)).not.toEqual([]);
  });

  it('accepts a variable wherever text may stand', () => {
    const text = `
listen: { http: "\${A}", admin: "\${A}" }
trusted_proxies: ["\${A}"]
forwarding_headers: ["\${A}"]
upstreams:
  api: { url: "http://\${A}:\${B}", host: "\${A}", timeouts: { connect: "\${A}" }, max_head: "\${A}" }
routes:
  - { path: "/\${A}", methods: ["\${A}"], upstream: "\${A}", authentication: "\${A}", max_body: "\${A}" }
log: { level: "\${A}" }
`;
    expect(refusedIn(text)).toEqual([]);
  });

  it('describes every key', () => {
    const silent = [...parts(schema)].filter(
      ([path, { description }]) => !/(^|\*)$/.test(path) && !description,
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it('knows no key but those of the sections below', () => {
    expect([...parts(schema)].map(([path]) => path).filter(path => /^\.\w+$/.test(path))).toEqual([
      '.listen',
      '.trusted_proxies',
      '.forwarding_headers',
      '.upstreams',
      '.routes',
      '.timeouts',
      '.caps',
      '.shutdown',
      '.log',
    ]);
  });
});
