import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHECKOUT } from '../support/packed.ts';
import { tempFolder } from '../support/temp.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly needs?: string | readonly string[];
  readonly environment?: string;
  readonly 'timeout-minutes': number;
  readonly steps: readonly Step[];
}

const text = readFileSync(join(CHECKOUT, '.github/workflows/release.yml'), 'utf8');
const workflow: {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
} = parse(text);
const jobs = Object.entries(workflow.jobs);
const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'));

test('every action of the workflow of releases is pinned by the hash of a commit', () => {
  const used = Array.from(text.matchAll(/uses: (.+)$/gm), ([, action]) => action);
  expect(used.length).toBeGreaterThan(10);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('no job may do more than it has to: what writes or signs waits for approval or for the tests', () => {
  expect(workflow.permissions).toEqual({});
  for (const [name, job] of jobs) {
    expect(job['timeout-minutes'], name).toBeGreaterThan(0);
    if (job.permissions['id-token'] === 'write') expect(job.environment, name).toBe('release');
    if (name !== 'test') expect(job.needs, name).toBeDefined();
  }
  const writers = jobs.filter(([, { permissions }]) => permissions['contents'] === 'write');
  expect(writers.map(([name]) => name)).toEqual(['release']);
});

test('what it runs exists, and takes what others write by variables alone', () => {
  const runs = jobs.flatMap(([, { steps }]) => steps.flatMap(({ run }) => run ?? []));
  const named = runs.join('\n');
  expect(named).not.toContain('${{');
  for (const [, script = ''] of named.matchAll(/npm run ([\w:]+)/g)) expect(scripts).toHaveProperty(script);
  for (const [, file = ''] of named.matchAll(/(?:node|bash) (\S+\.ts|\.ci\/run)/g))
    expect(existsSync(join(CHECKOUT, file)), file).toBe(true);
});

test('npm takes what it publishes for a file: a path without ./ would be a repository on GitHub', () => {
  const published = Array.from(text.matchAll(/npm publish .*?(\S+\.tgz)$/gm), ([, path = '']) => path);
  expect(published.map(path => path.replace(/[^/]+$/, ''))).toEqual(['./out/', './']);
});

test('a tag whose version the changelog does not date, or that another file does not have, is refused', async () => {
  const tree = join(await tempFolder(), 'tree');
  // The workflow asks before it installs packages.
  for (const name of [
    'scripts',
    'package.json',
    'package-lock.json',
    'helm/weir/Chart.yaml',
    'CHANGELOG.md',
    'UPGRADE.md',
  ])
    cpSync(join(CHECKOUT, name), join(tree, name), { recursive: true });
  const release = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...args], {
      cwd: tree,
      encoding: 'utf8',
    });
    return { status, said: stdout + stderr };
  };
  expect(release('check', 'v9.9.9')).toEqual({
    status: 1,
    said: 'CHANGELOG.md has no section "## [9.9.9] - YYYY-MM-DD"\n',
  });
  const { version } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'));
  const path = join(tree, 'CHANGELOG.md');
  const whole = readFileSync(path, 'utf8').replace(/(## \[Unreleased\]\n)[\s\S]*?(?=## \[)/, '$1\n');
  const dated = whole.replace(/## \[\d[\d.]*\] - \S+/, `## [${version}] - 2026-12-01`);
  writeFileSync(path, dated.replace('\n### What', '\n- A line of this test.\n$&'));
  expect(release('check', `v${version}`)).toEqual({ status: 0, said: `${version}, dated 2026-12-01\n` });
  const { said } = release('notes', `v${version}`);
  expect(said).toContain('### What matters most\n\n1. ');
  expect(said).toContain('- A line of this test.');
  writeFileSync(
    path,
    dated.replace('## [Unreleased]\n', '## [Unreleased]\n\n### Fixed\n\n- Another line.\n'),
  );
  expect(release('check', `v${version}`)).toEqual({
    status: 1,
    said: `CHANGELOG.md has changes under "Unreleased": move them to ${version}\n`,
  });
  writeFileSync(path, dated.replace(`## [${version}]`, '## [9.9.9]'));
  expect(release('check', 'v9.9.9').said).toContain(`not 9.9.9: package.json is ${version}`);
});
