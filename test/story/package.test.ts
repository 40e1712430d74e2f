import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { access, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { waitFor } from '../support/wait.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

let directory: string;
/** A copy of the checkout without what git ignores, with the installed packages linked in. */
let tree: string;
/** What `npm pack` made of it, unpacked. */
let unpacked: string;
/** Names of the files in the package. */
let files: string[];
let manifest: Record<string, unknown>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-package-'));
  tree = join(directory, 'tree');
  await copyFiles(tree);
  await symlink(join(CHECKOUT, 'node_modules'), join(tree, 'node_modules'));
  const tarball = await npmPack();
  await run('tar', ['-xzf', tarball, '-C', directory]);
  unpacked = join(directory, 'package');
  files = (await run('tar', ['-tzf', tarball])).stdout
    .trim()
    .split('\n')
    .map(name => name.replace('package/', ''));
  manifest = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8'));
});

afterAll(() => rm(directory, { recursive: true }));

describe('the package', () => {
  it('holds the compiled gateway, its configuration and what a reader needs', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        'dist/main.js',
        'config/gateway.yaml',
        'README.md',
        'docs/operations.md',
        'LICENSE',
        'CHANGELOG.md',
        'SECURITY.md',
      ]),
    );
  });

  it.each(['gateway', 'limits'])('holds the JSON Schema that its %s.yaml names', async name => {
    const yaml = await readFile(join(unpacked, `config/${name}.yaml`), 'utf8');
    const [, named = ''] = /^# yaml-language-server: \$schema=(\S+)$/m.exec(yaml) ?? [];
    const schema = JSON.parse(await readFile(join(unpacked, 'config', named), 'utf8'));
    expect(schema.$id).toBe(named);
    await linkDependencies();
    const printed = await run('node', [join(unpacked, 'dist/main.js'), 'schema', name]);
    expect(schema).toEqual(JSON.parse(printed.stdout));
  });

  it('holds no source, test, tool or demo', () => {
    expect(files.filter(name => /^(src|test|bench|scripts|lint)\/|demo|\.ts$/.test(name))).toEqual([]);
  });

  it('names what it needs to run and nothing else', async () => {
    const working = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8'));
    expect(manifest['dependencies']).toEqual(working.dependencies);
    for (const key of ['devDependencies', 'optionalDependencies', 'scripts', 'private']) {
      expect(manifest).not.toHaveProperty(key);
    }
  });

  it('imports no development dependency, such as the provider of the demo', async () => {
    const { devDependencies } = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8'));
    expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining(['oidc-provider', 'jose']));
    const scripts = files.filter(name => name.endsWith('.js'));
    const sources = await Promise.all(scripts.map(name => readFile(join(unpacked, name), 'utf8')));
    const imported = sources.flatMap(source =>
      Array.from(source.matchAll(/(?:from|import|import\() ?'([^'.][^']*)'/g), ([, name = '']) => name),
    );
    const packages = new Set(imported.filter(name => !name.startsWith('node:')));
    expect(packages).toContain('openid-client');
    expect([...packages].filter(name => !Object.hasOwn(manifest['dependencies'] ?? {}, name))).toEqual([]);
  });

  it('has the name under which the registry knows it', async () => {
    const lock = JSON.parse(await readFile(join(CHECKOUT, 'package-lock.json'), 'utf8'));
    const names = [manifest['name'], lock.name, lock.packages[''].name];
    expect(names).toEqual(['weir-gateway', 'weir-gateway', 'weir-gateway']);
    const contributing = await readFile(join(CHECKOUT, 'CONTRIBUTING.md'), 'utf8');
    expect(contributing).toContain('npm publish weir-gateway-X.Y.Z.tgz');
  });

  it('has an executable of the name weir', async () => {
    expect(manifest['bin']).toEqual({ weir: 'dist/main.js' });
    expect((await stat(join(unpacked, 'dist/main.js'))).mode & 0o111).toBe(0o111);
  });

  it('runs with its dependencies alone', async () => {
    await linkDependencies();
    const version = await run('node', [join(unpacked, 'dist/main.js'), '--version']);
    expect(version.stdout).toContain(String(manifest['version']));
    const schema = await run('node', [join(unpacked, 'dist/main.js'), 'schema']);
    expect(JSON.parse(schema.stdout)).toHaveProperty('properties');
  });

  it('serves with its dependencies alone, and asks for tokens', async () => {
    await linkDependencies();
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
    };
    const file = join(directory, 'gateway.yaml');
    await writeFile(file, JSON.stringify(config));
    const gateway = spawn('node', [join(unpacked, 'dist/main.js'), 'serve', '--config', file]);
    onTestFinished(() => void gateway.kill('SIGKILL'));
    let log = '';
    gateway.stdout.on('data', text => {
      log += text;
    });
    await waitFor('the gateway listens', () => log.includes('"msg":"listening"'), 20_000);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(401);
  });
});

describe('the line that the documents give to a supervisor', () => {
  it.each([
    ['README.md', /^node (node_modules\/weir-gateway\/.*)$/m],
    ['README.md', /^node (src\/.*)$/m],
    ['docs/operations.md', /^ExecStart=\/usr\/bin\/node (\/opt\/weir\/.*)$/m],
    ['docs/operations.md', /^In a container: `CMD \["node", "(.*)"\]`\.$/m],
  ])('of %s, %s, starts a gateway that SIGTERM ends with exit code 0', async (document, line) => {
    const [, words = ''] = line.exec(await readFile(join(CHECKOUT, document), 'utf8')) ?? [];
    const [program = '', ...rest] = words.split(/ |", "/);
    expect(rest).toEqual(['serve', '/etc/weir/gateway.yaml']);
    await linkDependencies();
    const installed = join(directory, 'opt');
    await mkdir(join(installed, 'node_modules'), { recursive: true });
    await symlink(unpacked, join(installed, 'node_modules/weir-gateway')).catch(() => undefined);
    const file = join(directory, 'idle.yaml');
    await writeFile(file, 'listen: { http: "127.0.0.1:0", admin: off }\nupstreams: {}\nroutes: []\n');
    const cwd = program.startsWith('src/') ? CHECKOUT : installed;
    const gateway = spawn('node', [program.replace('/opt/weir', installed), 'serve', file], { cwd });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    const ended = once(gateway, 'close');
    let log = '';
    gateway.stdout.on('data', text => {
      log += text;
    });
    await waitFor('the gateway listens', () => log.includes('"msg":"listening"'), 20_000);
    gateway.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

describe('packing', () => {
  it('leaves the manifest of the working tree as it was', async () => {
    await expectManifestUntouched();
  });

  it('leaves it as it was when the build fails', async () => {
    await writeFile(join(tree, 'src/broken.ts'), `export const broken: number = 'text';\n`);
    await expect(npmPack()).rejects.toMatchObject({ stdout: expect.stringContaining('src/broken.ts') });
    await expectManifestUntouched();
  });
});

async function expectManifestUntouched(): Promise<void> {
  expect(await readFile(join(tree, 'package.json'), 'utf8')).toBe(
    await readFile(join(CHECKOUT, 'package.json'), 'utf8'),
  );
  await expect(access(join(tree, 'package.working.json'))).rejects.toThrow('ENOENT');
}

/** All files that git tracks or would take, as they are now. */
async function copyFiles(target: string): Promise<void> {
  const names = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const listed = execFileSync('git', names, { cwd: CHECKOUT, encoding: 'utf8' }).split('\0');
  for (const name of listed.filter(
    listedName => existsSync(join(CHECKOUT, listedName)) && listedName !== '',
  )) {
    await mkdir(dirname(join(target, name)), { recursive: true });
    await cp(join(CHECKOUT, name), join(target, name));
  }
}

/** Packs the tree and returns the tarball's path. */
async function npmPack(): Promise<string> {
  // What the npm that runs the tests tells its scripts would point the inner one at this checkout.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  const { stdout } = await run(
    'npm',
    ['pack', '--silent', '--foreground-scripts', '--pack-destination', directory],
    { cwd: tree, env },
  );
  return join(directory, stdout.trim().split('\n').at(-1) ?? '');
}

/** Links the packages that the manifest names, and no other, into the unpacked package. */
async function linkDependencies(): Promise<void> {
  for (const name of Object.keys(manifest['dependencies'] ?? {})) {
    await mkdir(dirname(join(unpacked, 'node_modules', name)), { recursive: true });
    const link = join(unpacked, 'node_modules', name);
    if (!existsSync(link)) await symlink(join(CHECKOUT, 'node_modules', name), link);
  }
}
