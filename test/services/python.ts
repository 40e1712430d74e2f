import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureInstalled } from '../support/installed.ts';
import { run } from './application.ts';

const SOURCE = / as source$/;

/**
 * Has pip install these packages, once, and puts them into the folder as `venv`. A package that ends in ` as source` also lies in
 * `venv/sources` as its authors have published it, with its tests.
 *
 * @param fetched a folder that stays from one run to the next
 */
export async function addVenv(packages: readonly string[], fetched: string, folder: string): Promise<void> {
  if (packages.length === 0) return;
  // Debian has what makes environments in a package of its own.
  const versionArgs = ['-m', 'ensurepip', '--version'];
  ensureInstalled({ command: 'python3', versionArgs, packages: ['python3', 'python3-venv'] });
  const kept = join(fetched, createHash('sha256').update(packages.join()).digest('hex').slice(0, 16));
  const complete = join(kept, 'complete');
  // Its scripts name the folder that it was made in, so it cannot be renamed when it is complete.
  if (!existsSync(complete)) {
    await rm(kept, { recursive: true, force: true });
    await run(folder, 'python3', '-m', 'venv', kept);
    const pip = (...args: string[]) =>
      run(folder, join(kept, 'bin/pip'), ...args, '--quiet', '--disable-pip-version-check');
    await pip('install', ...packages.map(name => name.replace(SOURCE, '')));
    const sources = packages.filter(name => SOURCE.test(name)).map(name => name.replace(SOURCE, ''));
    const dest = join(kept, 'sources');
    for (const name of sources)
      await pip('download', '--no-deps', '--no-binary', ':all:', '--dest', dest, name);
    await mkdir(complete);
  }
  await symlink(kept, join(folder, 'venv'));
}
