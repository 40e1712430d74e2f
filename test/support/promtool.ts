import { spawnSync } from 'node:child_process';
import { ensureInstalled } from './installed.ts';

/** Once before the tests of a file, with time for a download. */
export function installPrometheus(): void {
  ensureInstalled({ command: 'promtool', versionArgs: ['--version'], packages: ['prometheus'] });
}

/** Runs promtool. `said`: both of its outputs, as it says warnings on the second and ends well. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { code: status, said: (stdout + stderr).trim() };
}
