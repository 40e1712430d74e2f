import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { publishedManifest } from '../../scripts/manifest.ts';
import { documentNamed } from '../support/documents.ts';
import { freePort } from '../support/free-port.ts';
import { CHECKOUT, copyCheckout, npmInstall, npmPack, USER_ENV } from '../support/packed.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const DEMO_PROVIDER = 'oidc-provider';

let directory: string;
/** A copy of the checkout. */
let tree: string;
let tarball: string;
/** A folder in which only `npm install TARBALL` has run. */
let home: string;
/** The package there. */
let installed: string;
/** Names of the files in the package. */
let files: string[];
let manifest: Record<string, unknown>;
/** The working tree's. */
let working: Record<string, Record<string, string>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-package-'));
  tree = join(directory, 'tree');
  await copyCheckout(tree);
  tarball = await npmPack(tree, directory);
  home = join(directory, 'home');
  await npmInstall(tarball, home);
  installed = join(home, 'node_modules/weir-gateway');
  const listed = await run('tar', ['-tzf', tarball]);
  files = listed.stdout
    .trim()
    .split('\n')
    .map(name => name.replace('package/', ''));
  manifest = await readJson(join(installed, 'package.json'));
  working = await readJson(join(CHECKOUT, 'package.json'));
});

afterAll(() => rm(directory, { recursive: true }));

describe('the package', () => {
  it('holds the gateway, its configuration and what a reader needs', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        'dist/main.js',
        'config/gateway.yaml',
        'config/demo/gateway.yaml',
        'systemd/weir.service',
        'systemd/weir@.service',
        'helm/weir/Chart.yaml',
        'README.md',
        'docs/operations.md',
        'LICENSE',
        'CHANGELOG.md',
        'UPGRADE.md',
        'SECURITY.md',
      ]),
    );
  });

  it('holds the gateway as few scripts, each with its source map', async () => {
    const scripts = files.filter(name => /^dist\/.*\.js$/.test(name));
    expect(scripts.length).toBeLessThan(60);
    const unmapped = scripts.filter(name => !files.includes(`${name}.map`));
    const sources = await Promise.all(unmapped.map(name => readFile(join(installed, name), 'utf8')));
    // They hold no lines of ours, but names of other scripts.
    const isOfOthers = (source: string) => /^(?:(?:import|export) [^;(]*;\s*)*$/.test(source);
    expect(unmapped.filter((_, index) => !isOfOthers(sources[index] ?? '('))).toEqual([]);
  });

  it('holds scripts of characters that Node.js reads into one byte each', async () => {
    const scripts = files.filter(name => /^dist\/.*\.js$/.test(name));
    const sources = await Promise.all(scripts.map(name => readFile(join(installed, name), 'utf8')));
    expect(scripts.filter((_, index) => /[^\0-\x7f]/.test(sources[index] ?? ''))).toEqual([]);
  });

  it('holds the files for other programs that its documents name', async () => {
    const texts = await Promise.all(
      files
        .filter(name => /\.(md|yaml|service)$/.test(name))
        .map(name => readFile(join(installed, name), 'utf8')),
    );
    const named = texts.flatMap(text =>
      Array.from(
        text.matchAll(/(?<![\w/.-])(?:config|systemd|helm\/weir)\/[\w./-]+\.\w+/g),
        ([name]) => name,
      ),
    );
    expect(named).toEqual(
      expect.arrayContaining(['helm/weir/files/alerts.yaml', 'helm/weir/files/dashboard.json']),
    );
    expect([...new Set(named)].filter(name => !files.includes(name))).toEqual([]);
  });

  it('lists the packages inside its scripts, each with its licence', async () => {
    const bill = await readJson<Bill>(join(installed, 'dist/sbom.cdx.json'));
    expect(bill.metadata.component).toMatchObject({ name: 'weir-gateway', version: manifest['version'] });
    const notices = await readFile(join(installed, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    const refs = bill.components.map(({ name, version }) => `${name} ${version}`);
    expect(refs.map(ref => notices.includes(`\n${ref} (`))).toEqual(refs.map(() => true));
    expect(notices).toContain(`contain these ${refs.length} packages`);
    const direct = Object.entries(working['dependencies'] ?? {}).map(each => each.join(' '));
    expect(refs).toEqual(expect.arrayContaining(direct));
    for (const { licenses, hashes } of bill.components)
      expect([licenses.length, hashes.length]).toEqual([1, 1]);
  });

  // As long as the hook above may take, which does more.
  it('is the same when it is packed again', { timeout: 900_000 }, async () => {
    const again = await npmPack(tree, await mkdtemp(join(directory, 'again-')));
    expect((await readFile(again)).equals(await readFile(tarball))).toBe(true);
  });

  it.each(['gateway', 'limits'])('holds the JSON Schema that its %s.yaml names', async name => {
    const yaml = await readFile(join(installed, `config/${name}.yaml`), 'utf8');
    const [, named = ''] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(yaml) ?? [];
    const schema = await readJson(join(installed, 'config', named));
    expect(schema['$id']).toBe(named);
    expect(schema).toEqual(JSON.parse((await npx('schema', name)).stdout));
  });

  it('holds no source, test or tool', () => {
    const inside = /^(src|test|bench|scripts|lint)\/|(?<!\.d)\.ts$/;
    expect(files.filter(name => inside.test(name))).toEqual([]);
  });

  it('needs no other package to run, and names the provider of the demo as optional', () => {
    const version = working['devDependencies']?.[DEMO_PROVIDER];
    expect(manifest['optionalDependencies']).toEqual({ [DEMO_PROVIDER]: version });
    for (const key of ['dependencies', 'devDependencies', 'scripts', 'private'])
      expect(manifest).not.toHaveProperty(key);
  });

  it('imports its peers only, and the optional package in the demo alone', async () => {
    const scripts = files.filter(name => /^dist\/.*\.js$/.test(name));
    const isDemo = (name: string) => name.startsWith('dist/chunks/demo-');
    const peers = Object.keys(working['peerDependencies'] ?? {});
    expect(await importedBy(scripts.filter(name => !isDemo(name)))).toEqual(peers.toSorted());
    const meta = working['peerDependenciesMeta'] as Readonly<Record<string, unknown>>;
    expect(meta).toEqual(Object.fromEntries(peers.map(name => [name, { optional: true }])));
    expect(manifest['peerDependencies']).toEqual(working['peerDependencies']);
    expect(manifest['peerDependenciesMeta']).toEqual(meta);
    expect(await importedBy(scripts.filter(isDemo))).toEqual([DEMO_PROVIDER]);
  });

  it('says where it comes from in a workflow of the forge, and is published with its provenance', () => {
    const env = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'weir/weir' };
    expect(publishedManifest({ ...working, devDependencies: {} }, env)).toMatchObject({
      repository: { type: 'git', url: 'git+https://github.com/weir/weir.git' },
      homepage: 'https://github.com/weir/weir#readme',
      bugs: { url: 'https://github.com/weir/weir/issues' },
    });
    expect(manifest['publishConfig']).toEqual({ access: 'public', provenance: true });
  });

  it('could be published as it is: npm refuses nothing of it', async () => {
    const args = ['publish', '--dry-run', '--no-provenance', '--ignore-scripts', tarball];
    const { stdout, stderr } = await run('npm', args, { cwd: directory, env: USER_ENV });
    expect(stdout + stderr).toContain(`+ weir-gateway@${manifest['version']}`);
    expect(stdout + stderr).not.toMatch(
      /auto-corrected|npm warn publish (?!This command requires you to be logged in)/,
    );
  });

  it('has the name under which the registry knows it', async () => {
    const lock = await readJson(join(CHECKOUT, 'package-lock.json'));
    expect([manifest['name'], lock['name']]).toEqual(['weir-gateway', 'weir-gateway']);
    const contributing = await readFile(join(CHECKOUT, 'CONTRIBUTING.md'), 'utf8');
    expect(contributing).toContain('npm publish weir-gateway-X.Y.Z.tgz');
  });

  it('has an executable of the name weir', async () => {
    expect(manifest['bin']).toEqual({ weir: 'dist/main.js' });
    expect((await stat(join(installed, 'dist/main.js'))).mode & 0o111).toBe(0o111);
  });
});

describe('the package, installed by npm in an empty folder', () => {
  it('names the lines of the sources in stacks', async () => {
    const print = 'process.stdout.write = () => { console.error(new Error().stack); return true; }';
    const args = ['--import', `data:text/javascript,${print}`, join(installed, 'dist/main.js'), '--version'];
    const { stderr } = await run(process.execPath, args, { env: USER_ENV });
    const [, line] = /^ {4}at run \(src\/cli\/index\.ts:(\d+):\d+\)$/m.exec(stderr) ?? [];
    const source = await readFile(join(CHECKOUT, 'src/cli/index.ts'), 'utf8');
    expect(source.split('\n')[Number(line) - 1]).toContain('readVersion()');
  });

  it('brings no Node.js and takes what docs/deployment.md says', async () => {
    const entries = await readdir(join(home, 'node_modules'), { recursive: true, withFileTypes: true });
    expect(entries.filter(({ name }) => /^node-(bin|linux|win)-/.test(name))).toEqual([]);
    const regular = entries.filter(entry => entry.isFile());
    const sizes = await Promise.all(
      regular.map(async ({ parentPath, name }) => stat(join(parentPath, name))),
    );
    const total = sizes.reduce((sum, { size }) => sum + size, 0) / 1e6;
    const { text } = documentNamed('docs/deployment.md');
    const documented = Number(/The installation takes ([\d.]+) MB in files/.exec(text)?.[1]);
    expect(documented).toBeGreaterThan(total * 0.9);
    expect(documented).toBeLessThan(total * 1.1);
  });

  it('says its version', async () => {
    expect((await npx('--version')).stdout).toBe(`weir ${manifest['version']}\n`);
  });

  it('serves with npx, and asks for tokens', async () => {
    const port = await freePort();
    const provider = {
      issuer: 'http://127.0.0.1:1',
      client_id: 'gateway',
      redirect_uri: 'http://127.0.0.1/',
    };
    const config = {
      listen: { http: `127.0.0.1:${port}`, admin: 'off' },
      identity_provider: { ...provider, client_authentication: 'none' },
      access_tokens: { audience: 'api' },
      upstreams: { api: { url: 'http://127.0.0.1:1' } },
      routes: [{ path: '/**', upstream: 'api' }],
      // Threads start from the package, too.
      workers: 2,
    };
    await writeFile(join(home, 'gateway.yaml'), JSON.stringify(config));
    const gateway = start('npx', ['weir', 'serve'], { cwd: home, env: USER_ENV });
    await gateway.listening();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(401);
  });

  it('has workers take the compiled code that the main thread keeps', async () => {
    const say = 'writeSync(1, (isMainThread ? "main " : "worker ") + cachedDataVersionTag() + "\\n")';
    const preload = [
      'import { writeSync } from "node:fs"; import { cachedDataVersionTag } from "node:v8";',
      'import { isMainThread } from "node:worker_threads";',
      // The main thread says it at its end: V8's flags are set by then.
      `const say = () => ${say}; if (isMainThread) process.on("exit", say); else say();`,
    ].join(' ');
    const file = join(directory, 'idle-workers.yaml');
    const idle = 'listen: { http: "127.0.0.1:0", admin: off }\nupstreams: {}\nroutes: []\nworkers: 2\n';
    await writeFile(file, idle);
    const args = [
      ...['--import', `data:text/javascript,${encodeURIComponent(preload)}`],
      ...[join(installed, 'dist/main.js'), 'serve', file],
    ];
    const gateway = start(process.execPath, args, { cwd: home, env: USER_ENV });
    await gateway.listening();
    gateway.process.kill('SIGTERM');
    await gateway.ended;
    const tagOf = (thread: string) => new RegExp(`^${thread} (\\d+)$`, 'm').exec(gateway.output())?.[1];
    expect(tagOf('main')).toMatch(/^\d+$/);
    // The first worker: while it reads the configuration, V8 has another flag, which the second one may see.
    expect(tagOf('worker')).toBe(tagOf('main'));
  });

  it('shows a whole sign-in with the demo', async () => {
    expect((await npx('demo', '--flow')).stdout).toContain('Every response was as expected.');
  });

  it('says how to get the provider of the demo where npm left it out', async () => {
    const [present, absent] = [DEMO_PROVIDER, 'absent'].map(name => join(home, 'node_modules', name));
    await rename(`${present}`, `${absent}`);
    onTestFinished(() => rename(`${absent}`, `${present}`));
    const stderr = expect.stringMatching(/^weir demo: .+: npm install oidc-provider$/m);
    await expect(npx('demo')).rejects.toMatchObject({ code: 1, stderr });
  });
});

describe('the line that the documents give to a supervisor', () => {
  it.each([
    ['README.md', /^node (node_modules\/weir-gateway\/.*)$/m],
    ['README.md', /^node (src\/.*)$/m],
    ['systemd/weir.service', /^ExecStart=\/usr\/bin\/node (\/opt\/weir\/.*)$/m],
  ])('of %s, %s, starts a gateway that SIGTERM ends with exit code 0', async (document, line) => {
    const [, words = ''] = line.exec(await readFile(join(CHECKOUT, document), 'utf8')) ?? [];
    const [program = '', ...rest] = words.split(' ');
    expect(rest).toEqual(['serve', '/etc/weir/gateway.yaml']);
    const file = join(directory, 'idle.yaml');
    await writeFile(file, 'listen: { http: "127.0.0.1:0", admin: off }\nupstreams: {}\nroutes: []\n');
    const cwd = program.startsWith('src/') ? CHECKOUT : home;
    const gateway = start('node', [program.replace('/opt/weir', home), 'serve', file], {
      cwd,
      env: USER_ENV,
    });
    await gateway.listening();
    gateway.process.kill('SIGTERM');
    expect(await gateway.ended).toEqual([0, null]);
  });
});

describe('packing', () => {
  it('leaves the manifest of the working tree as it was', async () => {
    await expectManifestUntouched();
  });

  it('leaves it as it was when the build fails', async () => {
    // With all other sources it would fail the same way, seconds later.
    await rm(join(tree, 'src'), { recursive: true });
    await mkdir(join(tree, 'src'));
    await writeFile(join(tree, 'src/broken.ts'), `export const broken: number = 'text';\n`);
    await expect(npmPack(tree, directory)).rejects.toMatchObject({
      stdout: expect.stringContaining('src/broken.ts'),
    });
    await expectManifestUntouched();
  });
});

/** Starts a program in a process group of its own, which ends with the test. */
function start(program: string, args: string[], where: { cwd: string; env: typeof USER_ENV }) {
  const process_ = spawn(program, args, { ...where, detached: true });
  const ended = once(process_, 'close');
  onTestFinished(() => {
    try {
      process.kill(-(process_.pid ?? 0), 'SIGKILL');
    } catch {} // It has ended.
  });
  let log = '';
  process_.stdout.on('data', text => {
    log += text;
  });
  const listening = () => waitFor('the gateway listens', () => log.includes('"msg":"listening"'));
  return { process: process_, ended, listening, output: () => log };
}

/** Runs `npx weir` where the package is installed. */
function npx(...words: string[]): Promise<{ stdout: string; stderr: string }> {
  return run('npx', ['weir', ...words], { cwd: home, env: USER_ENV });
}

/** A bill of materials in CycloneDX. */
interface Bill {
  readonly metadata: { readonly component: unknown };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly licenses: readonly unknown[];
    readonly hashes: readonly unknown[];
  }[];
}

/** The packages that these scripts of the package import, in order. */
async function importedBy(names: readonly string[]): Promise<string[]> {
  const sources = await Promise.all(names.map(name => readFile(join(installed, name), 'utf8')));
  const imported = sources.flatMap(source =>
    Array.from(
      source.matchAll(/(?<![\w"])(?:from |import |import\()"([^".][^"]*)"/g),
      ([, name = '']) => name,
    ),
  );
  return [...new Set(imported.filter(name => !name.startsWith('node:')))].sort();
}

async function expectManifestUntouched(): Promise<void> {
  expect(await readFile(join(tree, 'package.json'), 'utf8')).toBe(
    await readFile(join(CHECKOUT, 'package.json'), 'utf8'),
  );
  await expect(access(join(tree, 'package.working.json'))).rejects.toThrow('ENOENT');
}

async function readJson<T = Record<string, unknown>>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8'));
}
