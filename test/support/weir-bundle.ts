import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitFor } from './wait.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const FOLDER = join(CHECKOUT, 'node_modules/.cache/weir-bundles');
/** Whatever the bundle depends on. */
const SOURCES = [
  'src/**/*.ts',
  'scripts/bundle.ts',
  'package.json',
  'package-lock.json',
  'test/support/{make-weir-bundle,patient-clock}.ts',
  'test/unit/limits/frozen-clock.ts',
  'test/support/*-worker.ts',
];

let known: Promise<string> | null = null;

/**
 * A script of `weir` as the package has it: its process or thread starts in half the processor time of the sources. Bundles them first
 * if nobody has since they changed.
 *
 * @param name which one. Default: the executable; the others are scripts of worker threads
 */
export async function bundledScript(
  name: 'main' | 'faulty-worker' | 'patient-worker' = 'main',
): Promise<string> {
  known ??= bundled();
  return join(await known, `${name}.js`);
}

async function bundled(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of globSync(SOURCES, { cwd: CHECKOUT }).sort())
    hash.update(`${file}\n`).update(await readFile(join(CHECKOUT, file)));
  const root = join(FOLDER, hash.digest('hex').slice(0, 16));
  const dist = join(root, 'dist');
  if (existsSync(dist)) return dist;
  const maker = fileURLToPath(new URL('make-weir-bundle.ts', import.meta.url));
  // In a process of its own, since the bundler leaves threads in the one that loads it.
  const make = () => promisify(execFile)(process.execPath, [maker, root]);
  await mkdir(root, { recursive: true });
  // Files of tests run in several processes. One makes it, unless that one was ended.
  const claim = join(root, 'claim');
  const isClaimed = await mkdir(claim).then(
    () => true,
    () => false,
  );
  if (isClaimed) await make();
  else await waitFor('the bundle is made', () => existsSync(dist)).catch(make);
  return dist;
}
