import { describe, expect, it } from 'vitest';
import type { LoadedConfig } from '../../../../src/config/index.ts';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

const GATEWAY = `${NEEDED}limits: limits\n`;

async function loaded(files: Readonly<Record<string, string>>): Promise<LoadedConfig> {
  const result = await loadFiles({ 'gateway.yaml': GATEWAY, ...files });
  if (!result.ok) throw new Error(diagnosticsOf(result).join('\n'));
  return result;
}

async function errors(files: Readonly<Record<string, string>>): Promise<string[]> {
  return diagnosticsOf(await loadFiles({ 'gateway.yaml': GATEWAY, ...files }));
}

describe('a folder of limits', () => {
  it('is read as one file, in the order of the names', async () => {
    const { snapshot, files } = await loaded({
      'limits/b.yaml': 'routes:\n  /things/{id}: things\nbuckets: { others: { address: 1/1s } }\n',
      'limits/a.yaml': 'global: { user: 7/1s }\nbuckets: { things: { main: id, address: 5/5s } }\n',
      'limits/c.yaml': 'routes: { GET /others: others }\n',
    });
    expect(files.map(file => file.replace(/^.*?weir-test-[^/]*\//, ''))).toEqual([
      'gateway.yaml',
      'limits/a.yaml',
      'limits/b.yaml',
      'limits/c.yaml',
    ]);
    expect(snapshot.limits.global.user.global?.units).toBe(7);
    expect(snapshot.limits.routes.find('GET', '', '/things/1')?.value.bucket.sets.address.caller?.units).toBe(
      5,
    );
    expect(snapshot.limits.routes.find('GET', '', '/others')?.value.bucket.name).toBe('others');
    const { places: written } = snapshot.outline;
    const places = ['/things/{id}', 'GET /others'].map(line => written.of(['routes', line]));
    expect(places.map(place => `${place?.file.replace(/^.*\//, '')}:${place?.line}`)).toEqual([
      'b.yaml:2',
      'c.yaml:1',
    ]);
    expect(written.of(['global', 'user'])?.file).toMatch(/a\.yaml$/);
    expect(written.of(['buckets', 'others', 'address'])).toMatchObject({ line: 3 });
    expect(written.of(['window_slack'])).toBeNull();
  });

  it('leaves hidden entries and other names out', async () => {
    const { snapshot } = await loaded({
      'limits/a.yaml': 'global: { user: 7/1s }\n',
      'limits/.b.yaml': 'nonsense',
      'limits/..data/a.yaml': 'nonsense',
      'limits/a.yaml~': 'nonsense',
      'limits/README.md': 'nonsense',
    });
    expect(snapshot.limits.global.user.global?.units).toBe(7);
  });

  it('warns of a name that people take for one that counts', async () => {
    const { warnings } = await loaded({ 'limits/a.yaml': 'global: off\n', 'limits/b.yml': 'nonsense' });
    expect(warnings.map(({ message }) => message)).toEqual([
      'limits: "b.yml" in this folder is ignored: only *.yaml files are read',
    ]);
  });

  it('has each bucket, route and other key in one file', async () => {
    expect(
      await errors({
        'limits/a.yaml': 'global: off\nbuckets:\n  one: { address: 1/1s }\nroutes: { /a: one }\n',
        'limits/b.yaml': 'buckets:\n  one: { address: 2/1s }\nglobal: off\nroutes:\n  /a: one\n',
      }),
    ).toEqual([
      expect.stringMatching(/^b\.yaml:2:3: buckets: "one" is already in .*\/limits\/a\.yaml, line 3$/),
      expect.stringMatching(/^b\.yaml:3:1: "global" is already in .*\/limits\/a\.yaml, line 1$/),
      expect.stringMatching(/^b\.yaml:5:3: routes: "\/a" is already in .*\/limits\/a\.yaml, line 4$/),
    ]);
  });

  it('reports the errors of every file, each with its own name', async () => {
    expect(
      await errors({
        'limits/a.yaml': 'globl: off\n',
        'limits/b.yaml': 'buckets: { one: { user: 5 } }\n',
        'limits/e.yaml': '',
      }),
    ).toEqual([
      'a.yaml:1:1: unknown key "globl", did you mean "global"?',
      'b.yaml:1:25: buckets.one.user: expected a number and a period such as 20/5s, found 5',
      'e.yaml:1:1: the file is empty, or all of it is commented out',
    ]);
  });

  it('is checked as a whole, and an error about two files names the other one', async () => {
    expect(
      await errors({
        'limits/c.yaml': 'routes:\n  /things/{id}: thing\n  /x: one\n',
        'limits/d.yaml': 'buckets: { one: { address: 1/1s }, things: { main: id, address: 1/1s } }\n',
        'limits/f.yaml': 'routes:\n  /x/: one\n',
      }),
    ).toEqual([
      'c.yaml:2:17: routes./things/{id}: no bucket is named "thing", did you mean "things"?',
      expect.stringMatching(
        /^f\.yaml:2:3: routes: "\/x\/" matches the same requests as line 3 of .*\/limits\/c\.yaml$/,
      ),
    ]);
  });

  it('may not be empty, or of folders', async () => {
    expect(await errors({ 'limits/.keep': '' })).toEqual([
      'gateway.yaml:3:9: limits: this folder contains no *.yaml file',
    ]);
    expect(await errors({ 'limits/a.yaml/b.yaml': 'global: off\n' })).toEqual([
      'a.yaml: this is a directory, expected a file',
    ]);
  });
});
