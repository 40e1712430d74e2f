import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensureInstalled } from './installed.ts';

const BUILT = join(import.meta.dirname, '../../node_modules/.cache/go');

/**
 * Builds a program of the module in this folder and returns where it is. The go command keeps what it compiled, so this takes a
 * second from the second time on.
 *
 * @param path the import path of the program. Default: the folder's own
 * @param tags of its build
 */
export function buildGo(folder: string, path = '.', tags: readonly string[] = []): string {
  ensureInstalled({ command: 'go', versionArgs: ['version'], packages: ['golang-go'] });
  const program = join(BUILT, basename(folder));
  mkdirSync(BUILT, { recursive: true });
  const build = ['go', 'build', '-tags', tags.join(), '-o', program, path];
  // Several files need one program: without a lock one would start it while another writes it. The second finds it made.
  const [command = '', ...args] = process.platform === 'linux' ? ['flock', BUILT, ...build] : build;
  execFileSync(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return program;
}
