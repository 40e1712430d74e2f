import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'src/README.md',
  'bench/README.md',
];

describe('the documents', () => {
  it('name npm scripts that exist', async () => {
    const { scripts } = JSON.parse(await readDocument('package.json'));
    const own = (await Promise.all(DOCUMENTS.map(readDocument))).join('\n');
    const named = [...own.matchAll(/\bnpm run (?:--silent )?([a-z]+)/g)].map(([, name]) => name);
    expect(named).toContain('lint');
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  it.each(DOCUMENTS)('%s links to files that exist', async name => {
    const targets = [...(await readDocument(name)).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(
      ([, target]) => target ?? '',
    );
    for (const target of targets) {
      await expect(readFile(resolve(CHECKOUT, name, '..', target)), target).resolves.toBeDefined();
    }
  });
});

describe('the README', () => {
  it('names every metric of the gateway, and none that does not exist', async () => {
    const source = await readDocument('src/observe/metrics.ts');
    const real = [...source.matchAll(/name: '(weir_\w+)'/g)].map(([, name]) => name);
    const named = [...(await readDocument('README.md')).matchAll(/`(weir_\w+)`/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(real.toSorted());
  });

  it('names every package that the gateway needs', async () => {
    const { dependencies } = JSON.parse(await readDocument('package.json'));
    const readme = await readDocument('README.md');
    for (const name of Object.keys(dependencies))
      expect(readme).toMatch(new RegExp(`^\\| \\[${name}\\]`, 'm'));
  });
});

function readDocument(name: string): Promise<string> {
  return readFile(join(CHECKOUT, name), 'utf8');
}
