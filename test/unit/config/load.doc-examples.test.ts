import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type ConfigData, compileData, type LoadResult, withoutTexts } from '../../../src/config/index.ts';
import { atOnce } from '../../../src/core/index.ts';
import { diagnosticsOf, loadFiles } from '../../support/config-text.ts';
import { docExamples, examplesIn } from '../../support/doc-examples.ts';

const all = await docExamples();
const examples = all.filter(({ file }) => file === 'gateway.yaml');

/** Takes whatever an example of limits.yaml is about. */
const GATEWAY = `limits: limits.yaml
listen: { grpc: 0.0.0.0:8081 }
state: { folder: /var/lib/weir, counters: 1h }
identity_provider: { issuer: "https://id.example.com", client_id: gateway, client_authentication: none, redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: any, bots: { claim: client_id } }
upstreams: { api: { url: "http://api" }, interactions: { url: "http://calls", protocol: grpc } }
routes:
  - { path: /**, upstream: api, authentication: optional }
  - { grpc: service.v1.Interactions/*, upstream: interactions, global_limit: exempt }
`;

/** That threads which get this configuration as data compile the same of it: a reload is read in another thread. */
async function expectSameElsewhere(loaded: LoadResult, where: string): Promise<void> {
  if (!loaded.ok) return;
  const { outline: written, ...snapshot } = loaded.snapshot;
  const compiled = (data: ConfigData) =>
    atOnce(compileData(structuredClone(data), snapshot.generation, null));
  const { outline, ...same } = compiled(loaded.data);
  const { outline: _none, ...inWorker } = compiled(withoutTexts(loaded.data));
  expect(textOf(same), where).toBe(textOf(snapshot));
  expect(textOf(inWorker), where).toBe(textOf(snapshot));
  expect(textOf({ ...outline, effective: null }), where).toBe(textOf({ ...written, effective: null }));
  expect(await outline.effective.read(), where).toEqual(await written.effective.read());
}

/** Functions are equal where they have the same name. */
const textOf = (value: unknown) =>
  inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, sorted: true });

describe('the examples of gateway.yaml in the documents', () => {
  it('have no error and no warning', async () => {
    expect(examples).not.toEqual([]);
    for (const { where, text } of examples) {
      const limits = text.includes('limits: limits.yaml') ? exampleBeside(where, 'limits.yaml') : {};
      const keys = text.includes('file: keys.yaml') ? exampleBeside(where, 'keys.yaml') : {};
      const loaded = await loadFiles({ 'gateway.yaml': text, ...limits, ...keys }, variablesOf(text));
      expect(diagnosticsOf(loaded), where).toEqual([]);
      await expectSameElsewhere(loaded, where);
    }
  });
});

describe('the examples of limits.yaml in the documents', () => {
  it('have no error and no warning', async () => {
    for (const { where, text } of all.filter(({ file }) => file === 'limits.yaml')) {
      const loaded = await loadFiles({ 'gateway.yaml': GATEWAY, 'limits.yaml': text });
      expect(diagnosticsOf(loaded), where).toEqual([]);
      await expectSameElsewhere(loaded, where);
    }
  });
});

describe('the search for examples', () => {
  const document = [
    '# Title',
    '```yaml',
    '# config/gateway.yaml',
    'a: 1',
    '```',
    '- in a list',
    '  ```yaml',
    '  # config/limits.yaml',
    '  b:',
    '    c: 2',
    '  ```',
    '```yaml',
    'no: name',
    '```',
    '```sh',
    '# config/gateway.yaml',
    '```',
    '',
  ].join('\n');

  it('finds each that names its file, with its line and without its indent', () => {
    expect(examplesIn('README.md', document)).toEqual([
      { where: 'README.md:3', file: 'gateway.yaml', text: 'a: 1\n' },
      { where: 'README.md:8', file: 'limits.yaml', text: 'b:\n  c: 2\n' },
    ]);
  });
});

/** The limits.yaml that the same document shows. */
function exampleBeside(where: string, file: string): Record<string, string> {
  const document = where.split(':')[0];
  const shown = all.find(each => each.file === file && each.where.startsWith(`${document}:`));
  return { [file]: shown?.text ?? '' };
}

/** A document says what a variable is for, a test what it holds: a name, which may stand in most places. */
function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries(Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name]) => [name, 'localhost']));
}
