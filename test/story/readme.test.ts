import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadText } from '../support/config-text.ts';
import { examplesIn } from '../support/doc-examples.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const DOCUMENTS = await documentNames();

describe('the documents', () => {
  it('name npm scripts that exist', async () => {
    const { scripts } = JSON.parse(await readDocument('package.json'));
    const own = (await Promise.all(DOCUMENTS.map(readDocument))).join('\n');
    const named = [...own.matchAll(/\bnpm run (?:--silent )?([a-z:]+)/g)].map(([, name]) => name);
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
  it('is one screen to decide, one to run and links: 150 lines at most', async () => {
    expect((await readDocument('README.md')).split('\n').length).toBeLessThanOrEqual(150);
  });

  it('tells beside its first gateway.yaml which limits hold without a limits.yaml', async () => {
    const readme = await readDocument('README.md');
    const [first] = examplesIn('README.md', readme);
    const loaded = await loadText(first?.text ?? '');
    if (!loaded.ok) throw new Error('the first gateway.yaml has mistakes');
    const { global, invalidRequests } = loaded.snapshot.limits;
    const behind = readme
      .slice(readme.indexOf(first?.text ?? ''))
      .replaceAll(/\s+/g, ' ')
      .slice(0, 1000);
    expect(global.address.global).toMatchObject({ units: 50, periodMs: 1_000 });
    expect(behind).toContain('each client address may send 50 requests a second');
    expect(invalidRequests).toEqual({ quota: { units: 10_000, periodMs: 600_000 }, restrictForMs: 600_000 });
    expect(behind).toContain('more than 10,000 of its requests within 10 minutes');
    expect(behind).toContain('nothing but 429 for 10 minutes');
  });

  it('says that the warnings of npm under an older Node.js are harmless', async () => {
    expect(await readDocument('README.md')).toMatch(/`EBADENGINE` warnings of npm [^.]* are harmless/);
  });

  it('links to every document of docs/', async () => {
    const readme = await readDocument('README.md');
    const unlinked = DOCUMENTS.filter(name => name.startsWith('docs/') && !readme.includes(`](${name})`));
    expect(unlinked).toEqual([]);
  });
});

describe('the documents of docs/', () => {
  it('name every metric of the gateway, and none that does not exist', async () => {
    const files = (await readdir(join(CHECKOUT, 'src/observe'))).filter(name => name.endsWith('metrics.ts'));
    const sources = await Promise.all(files.map(name => readDocument(`src/observe/${name}`)));
    const real = [...sources.join().matchAll(/'(weir_\w+)'/g)].map(([, name]) => name);
    const named = [...(await readDocument('docs/operations.md')).matchAll(/`(weir_\w+)`/g)].map(
      ([, name]) => name,
    );
    expect(real.length).toBeGreaterThan(15);
    expect([...new Set(named)].toSorted()).toEqual(real.toSorted());
  });

  it('show a configuration in which users sign in and callers are known', async () => {
    const examples = examplesIn('tokens.md', await readDocument('docs/tokens.md'));
    const texts = examples.filter(({ file }) => file === 'gateway.yaml').map(({ text }) => text);
    const shown = texts.filter(text => text.includes('identity_provider:'));
    expect(shown).toHaveLength(1);
    const result = await loadText(shown.join(''), { OIDC_CLIENT_SECRET: 'secret' });
    expect(result).toMatchObject({ ok: true, warnings: [] });
    const routes = result.ok ? result.routes.filter(({ place }) => place !== null) : [];
    expect(routes.map(({ value }) => value.authentication)).toEqual(['required', 'optional', 'none']);
  });

  it('name every member of the answer to a sign-in', async () => {
    const source = await readDocument('src/signin/auth-response.ts');
    const answer = /interface AuthResponse \{[^}]*\}/.exec(source)?.[0] ?? '';
    const members = [...answer.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
    expect(members).toHaveLength(9);
    const tokens = await readDocument('docs/tokens.md');
    for (const member of members) expect(tokens.includes(`\`${member}\``), member).toBe(true);
  });

  it('number every section of the contract that the code cites', async () => {
    const sections = [...(await readDocument('docs/contract.md')).matchAll(/^##+ (\d+(?:\.\d+)?)\.? /gm)];
    const numbers = new Set(sections.map(([, number]) => number));
    const cited = await citationsOfTheContract();
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ number }) => !numbers.has(number))).toEqual([]);
  });

  it('name every package that the gateway needs', async () => {
    const { dependencies } = JSON.parse(await readDocument('package.json'));
    const design = await readDocument('docs/design.md');
    for (const name of Object.keys(dependencies))
      expect(design).toMatch(new RegExp(`^\\| \\[${name}\\]`, 'm'));
  });
});

function readDocument(name: string): Promise<string> {
  return readFile(join(CHECKOUT, name), 'utf8');
}

/** Every document that is not installed, by its path. */
async function documentNames(): Promise<string[]> {
  const folders = ['', 'docs/', 'src/', 'bench/'];
  const listed = await Promise.all(
    folders.map(async folder => {
      const names = await readdir(join(CHECKOUT, folder));
      return names.filter(name => name.endsWith('.md')).map(name => folder + name);
    }),
  );
  return listed.flat();
}

/** Where the sources cite the contract, and which section. */
async function citationsOfTheContract(): Promise<{ file: string; number: string }[]> {
  const sources = await readdir(join(CHECKOUT, 'src'), { recursive: true });
  const cited = await Promise.all(
    sources
      .filter(name => name.endsWith('.ts'))
      .map(async file => {
        const text = await readDocument(`src/${file}`);
        return Array.from(text.matchAll(/docs\/contract\.md, ([\d.]*\d)/g), ([, number = '']) => ({
          file,
          number,
        }));
      }),
  );
  return cited.flat();
}
