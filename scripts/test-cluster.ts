// `npm run test:cluster`: brings what the tests in test/cluster/ need, then runs them in namespaces of their own, so that
// their servers and pods have a network and addresses for themselves and are gone when the tests end.
import { spawnSync } from 'node:child_process';
import fetchHelm from '../test/chart/helm-fetched.ts';
import { buildKubernetes } from '../test/cluster/api-server/build.ts';
import { crdFiles } from '../test/cluster/api-server/crds.ts';
import { ensureInstalled } from '../test/support/installed.ts';

/** With it, only what needs no API server runs: seconds instead of the minutes of its first build. */
const PODS_ONLY = '--pods-only';

const INNER = 'ip link set lo up && exec npx vitest run --config test/cluster/vitest.config.ts "$@"';

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function run(args: readonly string[]): Promise<number> {
  const podsOnly = args.includes(PODS_ONLY);
  requireNamespaces();
  ensureInstalled({ command: 'ip', versionArgs: ['-V'], packages: ['iproute2'] });
  ensureInstalled({ command: 'redis-server', versionArgs: ['--version'], packages: ['redis-server'] });
  fetchHelm();
  if (!podsOnly) {
    ensureInstalled({ command: 'etcd', versionArgs: ['--version'], packages: ['etcd-server'] });
    await buildKubernetes();
    crdFiles();
  }
  const rest = args.filter(arg => arg !== PODS_ONLY);
  const files = podsOnly ? ['test/cluster/pods/', ...rest] : rest;
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
  const { status } = spawnSync('unshare', [...flags, 'sh', '-c', INNER, 'sh', ...files], {
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
