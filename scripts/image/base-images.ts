import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Buildah } from './buildah.ts';

/** Stands for gcr.io/distroless/nodejs26-debian13: libraries, and Node.js where that image has it. */
export const BASE = 'localhost/weir-base';
/** Stands for node:26-trixie-slim: npm and a shell as well. */
export const BUILD_BASE = 'localhost/weir-build-base';

const LIBRARIES = ['libc6', 'libatomic1', 'libgcc-s1', 'libstdc++6'];
const SHELL = 'busybox-static';
const FOLDERS = ['dev', 'etc', 'etc/weir', 'proc', 'root', 'sys', 'tmp', 'usr/bin', 'bin'];
/** Where a machine in a network of its own keeps the authorities that its registry needs. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** Makes both base images of Debian packages, this Node.js and this machine's npm. */
export function makeBaseImages(buildah: Buildah, folder: string): void {
  const [base, buildBase] = [join(folder, 'base'), join(folder, 'build-base')];
  for (const name of FOLDERS) mkdirSync(join(base, name), { recursive: true });
  unpackDebian(LIBRARIES, join(folder, 'packages'), base);
  cpSync(process.execPath, join(base, 'nodejs/bin/node'));
  cpSync(base, buildBase, { recursive: true, verbatimSymlinks: true });
  unpackDebian([SHELL], join(folder, 'shell'), buildBase);
  for (const name of ['cp', 'env', 'mkdir', 'mv', 'sh']) symlinkSync('busybox', join(buildBase, 'bin', name));
  symlinkSync('/bin/env', join(buildBase, 'usr/bin/env'));
  symlinkSync('/nodejs/bin/node', join(buildBase, 'usr/bin/node'));
  cpSync(npmFolder(), join(buildBase, 'usr/lib/node_modules/npm'), { recursive: true, dereference: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(buildBase, 'usr/bin/npm'));
  const env = {
    PATH: '/usr/bin:/bin',
    npm_config_registry: npm('config', 'get', 'registry'),
    ...authorities(buildBase),
  };
  buildah.imageOf(base, BASE, {});
  buildah.imageOf(buildBase, BUILD_BASE, env);
}

/** The folder of npm's downloads: what `npm ci` has fetched is not fetched again. */
export function npmCache(): string {
  return npm('config', 'get', 'cache');
}

function unpackDebian(packages: readonly string[], folder: string, root: string): void {
  mkdirSync(folder);
  execFileSync('apt-get', ['download', '-qq', ...packages], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  for (const file of readdirSync(folder)) execFileSync('dpkg-deb', ['-x', join(folder, file), root]);
}

function authorities(root: string): Readonly<Record<string, string>> {
  if (!existsSync(AUTHORITIES)) return {};
  cpSync(realpathSync(AUTHORITIES), join(root, AUTHORITIES));
  return { NODE_EXTRA_CA_CERTS: AUTHORITIES, npm_config_cafile: AUTHORITIES };
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function npmFolder(): string {
  // npm tells its scripts where it is; `npm root` names the folder when this one was started by hand.
  const started = process.env['npm_execpath'];
  return started === undefined
    ? join(npm('root', '--global'), 'npm')
    : dirname(dirname(realpathSync(started)));
}
