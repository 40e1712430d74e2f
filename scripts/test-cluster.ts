// `npm run test:cluster`: brings what the tests in test/cluster/ need, then runs them in namespaces of their own, so that
// their servers and pods have a network and addresses for themselves and are gone when the tests end.
import { spawnSync } from 'node:child_process';
import fetchHelm from '../test/chart/helm-fetched.ts';
import { ensureInstalled } from '../test/support/installed.ts';

const INNER = 'ip link set lo up && exec npx vitest run --config test/cluster/vitest.config.ts "$@"';

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function run(args: readonly string[]): Promise<number> {
  requireNamespaces();
  ensureInstalled({ command: 'ip', versionArgs: ['-V'], packages: ['iproute2'] });
  ensureInstalled({ command: 'redis-server', versionArgs: ['--version'], packages: ['redis-server'] });
  fetchHelm();
  const flags = [
    '--net',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    '--propagation',
    'private',
  ];
  const { status } = spawnSync('unshare', [...flags, 'sh', '-c', INNER, 'sh', ...args], {
    stdio: 'inherit',
  });
  return status ?? 1;
}

function requireNamespaces(): void {
  const { status } = spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'true'], {
    stdio: 'ignore',
  });
  if (status !== 0)
    throw new Error(
      'The cluster tests run pods in namespaces of Linux: run them as root, on Linux, with util-linux.',
    );
}
