import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const CHECKOUT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/**
 * The environment of a user's shell that finds this Node first. What the npm that runs the tests tells its scripts would point an
 * inner npm at this checkout.
 */
export const USER_ENV: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
  PATH: dirname(process.execPath) + delimiter + process.env['PATH'],
};

/** Copies the checkout without what git ignores, as it is now, and links the installed packages in. */
export async function copyCheckout(target: string): Promise<void> {
  const names = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const listed = execFileSync('git', names, { cwd: CHECKOUT, encoding: 'utf8' }).split('\0');
  for (const name of listed.filter(each => each !== '' && existsSync(join(CHECKOUT, each)))) {
    await mkdir(dirname(join(target, name)), { recursive: true });
    await cp(join(CHECKOUT, name), join(target, name));
  }
  await symlink(join(CHECKOUT, 'node_modules'), join(target, 'node_modules'));
}

/** Packs the tree into the folder and returns the tarball's path. */
export async function npmPack(tree: string, folder: string): Promise<string> {
  const args = ['pack', '--silent', '--foreground-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: tree, env: USER_ENV });
  return join(folder, stdout.trim().split('\n').at(-1) ?? '');
}

/** Runs `npm install TARBALL` in an empty folder, without the scripts of any package. */
export async function npmInstall(tarball: string, folder: string): Promise<void> {
  await mkdir(folder);
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', tarball];
  await run('npm', args, { cwd: folder, env: USER_ENV });
}
