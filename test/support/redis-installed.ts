import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const INSTALL =
  'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server redis-tools';

/**
 * Runs once before all tests: the tests of Redis start servers of their own, so one has to be installed. On Debian and its
 * like root gets it by itself; elsewhere the tests fail here, with the line that helps.
 */
export default function setup(): void {
  if (isInstalled()) return;
  const canInstall = process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (canInstall) {
    process.stdout.write(`no redis-server on the PATH, installing it: ${INSTALL}\n`);
    // The package starts a server of its own where it can; nobody here needs it.
    execFileSync('sh', ['-c', INSTALL], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, RUNLEVEL: '1' },
    });
  }
  if (!isInstalled())
    throw new Error(`The tests need redis-server on the PATH. On Debian, as root: ${INSTALL}`);
}

function isInstalled(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
