import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadText } from '../support/config-text.ts';
import { examplesIn } from '../support/doc-examples.ts';
import { CHECKOUT, DOCUMENTS, documentNamed } from '../support/documents.ts';
import { WHOLE_CONVERSATIONS, WHOLE_READINGS } from '../support/fuzz/whole-runs.ts';

describe('the documents', () => {
  it.each(DOCUMENTS)('$name links to files and headings that exist', document => {
    const broken = document.links.filter(({ file, anchor }) => {
      const target = file === '' ? document.name : posix.join(posix.dirname(document.name), file);
      if (!existsSync(join(CHECKOUT, target))) return true;
      return anchor !== null && !documentNamed(target).anchors.has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it.each(DOCUMENTS)('$name names files and folders that exist', ({ codeSpans }) => {
    const named = codeSpans.filter(code => FILE_OR_FOLDER.test(code) && !PLACEHOLDER.test(code));
    const inTheTree = (path: string) => FILES.some(file => `/${file}`.includes(`/${path}`));
    expect(named.filter(path => !inTheTree(path))).toEqual([]);
  });

  it('are pages of at most 3,500 words, but for the contract', () => {
    const pages = DOCUMENTS.filter(({ name }) => name.startsWith('docs/') && name !== 'docs/contract.md');
    const long = pages.filter(({ text }) => text.trim().split(/\s+/).length > 3_500);
    expect(pages.length).toBeGreaterThan(20);
    expect(long.map(({ name }) => name)).toEqual([]);
  });
});

/** With its folders or without, as `gateway/gates.ts`, `gates.ts` and `src/gateway/`. */
const FILE_OR_FOLDER = /^[\w.-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|cjs|md|svg))$|^config\/[\w./-]+$/;
/** `test/unit/ROOM/FILE.test.ts`, and what only packing makes. */
const PLACEHOLDER = /[A-Z]{4,}(?:\/|\.test\.ts)|^dist\//;

/** What git tracks or would take. */
const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: CHECKOUT,
  encoding: 'utf8',
}).split('\n');

describe('the README', () => {
  it('is one screen to decide, one to run and links: 150 lines at most', () => {
    expect(documentNamed('README.md').text.split('\n').length).toBeLessThanOrEqual(150);
  });

  it('names side by side the line that runs a fresh clone and the line that tests it', () => {
    const { text } = documentNamed('README.md');
    // Without comments: an interactive zsh would hand them to npm.
    expect(text).toContain('```\nnpm ci && npm start\nnpm ci && npm test\n```');
  });

  it('links to every document of docs/', () => {
    const linked = new Set(documentNamed('README.md').links.map(({ file }) => file));
    const documents = DOCUMENTS.map(({ name }) => name).filter(name => name.startsWith('docs/'));
    const index = 'docs/decisions/README.md';
    expect(
      documents
        .filter(name => name === index || !name.startsWith('docs/decisions/'))
        .filter(name => !linked.has(name)),
    ).toEqual([]);
  });
});

describe('CONTRIBUTING', () => {
  it('names every folder of test/', () => {
    const { codeSpans } = documentNamed('CONTRIBUTING.md');
    const folders = readdirSync(join(CHECKOUT, 'test'), { withFileTypes: true }).filter(entry =>
      entry.isDirectory(),
    );
    const missing = folders.filter(({ name }) => !codeSpans.some(code => code.startsWith(`test/${name}/`)));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});

describe('the contract', () => {
  it('has every section that the code cites, and each number once', () => {
    const { prose } = documentNamed('docs/contract.md');
    const numbers = Array.from(prose.matchAll(/^##+ (\d+(?:\.\d+)?)\.? /gm), ([, number]) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    const cited = ['src', 'test', 'config'].flatMap(citationsIn);
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });

  it('names every member of the token object, in its order', () => {
    const source = readFileSync(join(CHECKOUT, 'src/identity/signin/token-request.ts'), 'utf8');
    const response = /interface AuthResponse \{[^}]*\}/.exec(source)?.[0] ?? '';
    const members = Array.from(response.matchAll(/^ {2}readonly (\w+)\??:/gm), ([, name]) => name);
    expect(members).toHaveLength(9);
    const section = documentNamed('docs/contract.md').section('### 1.4 The token object');
    expect(Array.from(section.matchAll(/^\| `(\w+)`/gm), ([, name]) => name)).toEqual(members);
  });
});

/** Where the files of a folder cite the contract, and which section. */
function citationsIn(folder: string): { readonly file: string; readonly number: string }[] {
  const names = readdirSync(join(CHECKOUT, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter(name => /\.(?:ts|yaml)$/.test(name))
    .flatMap(name => {
      const text = readFileSync(join(CHECKOUT, folder, name), 'utf8');
      const cited = text.matchAll(/docs\/contract\.md, (\d+(?:\.\d+)?)/g);
      return Array.from(cited, ([, number = '']) => ({ file: `${folder}/${name}`, number }));
    });
}

describe('docs/tokens.md', () => {
  it('shows a configuration in which users sign in and callers are known', async () => {
    const { name, text } = documentNamed('docs/tokens.md');
    const shown = examplesIn(name, text).filter(({ file }) => file === 'gateway.yaml');
    const results = await Promise.all(
      shown.map(({ text }) => loadText(text, { OIDC_CLIENT_SECRET: 'secret' })),
    );
    for (const result of results) expect(result).toMatchObject({ ok: true, warnings: [] });
    const routes = results.map(result => (result.ok ? result.snapshot.outline.routes : []));
    const [first, rights] = routes.map(each => each.map(({ value }) => value));
    expect(first?.map(({ authentication }) => authentication)).toEqual(['required', 'optional', 'none']);
    expect(rights?.map(({ requirement }) => requirement !== null)).toEqual([true, true]);
  });
});

describe('docs/decisions', () => {
  const DECISIONS = DOCUMENTS.filter(({ name }) => /^docs\/decisions\/\d/.test(name));

  it('names every package that the gateway needs', () => {
    const { dependencies } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));
    const listed = documentNamed('docs/decisions/README.md').section('## Dependencies');
    const missing = Object.keys(dependencies).filter(name => !listed.includes(`\n| [${name}](`));
    expect(missing).toEqual([]);
  });

  it('links to each page from its index', () => {
    const linked = new Set(documentNamed('docs/decisions/README.md').links.map(({ file }) => file));
    expect(DECISIONS.map(({ name }) => posix.basename(name)).filter(name => !linked.has(name))).toEqual([]);
  });

  it.each(DECISIONS)('$name says context, decision, figures and what would change it', ({ text }) => {
    const headings = Array.from(text.matchAll(/^## (.*)$/gm), ([, heading]) => heading);
    expect(headings).toEqual(['Context', 'Decision', 'Figures', 'What would change our mind']);
  });

  it('says as many fuzz cases as the long run makes', () => {
    const { text } = documentNamed('docs/decisions/001-own-http1.md');
    const said = `on ${WHOLE_CONVERSATIONS.toLocaleString('en')} conversations and ${WHOLE_READINGS.toLocaleString('en')} responses`;
    expect(text.replace(/\s+/g, ' ')).toContain(said);
  });
});
