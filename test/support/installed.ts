import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** A program that tests start, and the packages of Debian that bring it. */
export interface NeededProgram {
  readonly command: string;
  /** With these arguments it says its version and ends well. */
  readonly versionArgs: readonly string[];
  readonly packages: readonly string[];
  /** A file of it that is in a package of its own. */
  readonly module?: string;
}

/**
 * Sees to it that the program is on the PATH. On Debian and its like root gets it by itself; elsewhere this throws the line that
 * helps.
 */
export function ensureInstalled(program: NeededProgram): void {
  if (isInstalled(program)) return;
  const install = installLine(program);
  const missing = [program.command, ...(program.module === undefined ? [] : [program.module])].join(' with ');
  const canInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (canInstall) {
    process.stdout.write(`no ${missing} on the machine, installing it: ${install}\n`);
    // Some packages start their own server if they can, which no test needs.
    execFileSync('flock', ['/usr/bin/apt-get', 'sh', '-c', install], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, RUNLEVEL: '1' },
    });
  }
  if (!isInstalled(program)) throw new Error(`The tests need ${missing}. On Debian, as root: ${install}`);
}

/**
 * Waits for packages of somebody else to be installed. The lists of packages have a lock of their own, for which apt-get does not wait: test
 * files, which run side by side, take turns by `flock`.
 */
function installLine({ packages }: NeededProgram): string {
  const apt = 'DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600';
  return `apt-get update && ${apt} install -y --no-install-recommends ${packages.join(' ')}`;
}

function isInstalled({ command, versionArgs, module }: NeededProgram): boolean {
  try {
    execFileSync(command, versionArgs, { stdio: 'ignore' });
    return module === undefined || existsSync(module);
  } catch {
    return false;
  }
}
