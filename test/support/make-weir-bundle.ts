// Bundles `weir`, with the worker threads of tests, into a folder that looks like the root of a package. Removes those of other days.
import { copyFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/bundle.ts';

const A_DAY_MS = 86_400_000;

const [root = ''] = process.argv.slice(2);
for (const name of await readdir(dirname(root))) {
  const other = join(dirname(root), name);
  if (other !== root && (await stat(other)).mtimeMs < Date.now() - A_DAY_MS)
    await rm(other, { recursive: true, force: true });
}
await copyFile(join(import.meta.dirname, '../../package.json'), join(root, 'package.json'));
const making = join(root, `making-${process.pid}`);
await bundle(making, {
  'faulty-worker': fileURLToPath(new URL('faulty-worker.ts', import.meta.url)),
  'patient-worker': fileURLToPath(new URL('patient-worker.ts', import.meta.url)),
});
// Another process may have made it meanwhile: both are the same.
await rename(making, join(root, 'dist')).catch(() => rm(making, { recursive: true }));
