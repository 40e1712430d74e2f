import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What the pod runner takes for an image: what its Dockerfile says, and folders of this machine in place of layers. */
export interface Image {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly user: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Paths of this machine by where the container sees them, all read-only. */
  readonly files: ReadonlyMap<string, string>;
}

const ROOT = resolve(import.meta.dirname, '../../..');

/** Where compiled sources go. */
const COMPILED = join(ROOT, 'node_modules/.cache/weir-image');

/** Runs before the tests: compiles the sources, as the Dockerfile does. */
export default function setup(): void {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', COMPILED], { cwd: ROOT, stdio: 'inherit' });
}

/** Weir's image without an image, as the Dockerfile describes it: the compiled sources, the packages and a Node, no shell. */
export function weirImage(): Image {
  return {
    entrypoint: ['node', '/opt/weir/dist/main.js'],
    cmd: ['serve', '/etc/weir/gateway.yaml'],
    user: 65_532,
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_ENV: 'production' },
    files: new Map([
      ['/usr/local/bin/node', process.execPath],
      ['/opt/weir/dist', COMPILED],
      ['/opt/weir/package.json', join(ROOT, 'package.json')],
      ['/opt/weir/node_modules', join(ROOT, 'node_modules')],
      // What Node is linked against.
      ...['/lib', '/lib64', '/usr/lib'].filter(existsSync).map(path => [path, path] as const),
    ]),
  };
}
