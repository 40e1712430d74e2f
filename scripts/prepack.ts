// Runs before `npm pack`: bundles src/ to dist/, with the licences and the bill of materials of what is inside, writes the JSON
// Schemas that the shipped configuration files name and that of the access log, and replaces the working tree's manifest by the published one until
// postpack.ts restores it. Builds first, so that a failure changes nothing. If npm dies before postpack.ts runs, run
// `node scripts/postpack.ts` by hand.
import { spawnSync } from 'node:child_process';
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { MANIFEST, publishedManifest, ROOT, replaceFile, WORKING_MANIFEST } from './manifest.ts';
import { billOfMaterials, noticesOf, readPackage } from './third-party.ts';

const DIST = join(ROOT, 'dist');

checkTypes();
const inside = (await bundle(DIST)).map(readPackage);
await writeFile(join(DIST, 'THIRD-PARTY-NOTICES.txt'), noticesOf(inside));
await writeFile(join(DIST, 'sbom.cdx.json'), billOfMaterials(inside));
await makeExecutable(join(DIST, 'main.js'));
for (const name of ['gateway', 'limits', 'test']) await writeSchema(name, 'config');
await writeSchema('access-log', 'docs');
// COPYFILE_EXCL: a copy left there is the working tree's manifest, and package.json is not. Do not overwrite it.
await copyFile(MANIFEST, WORKING_MANIFEST, constants.COPYFILE_EXCL);
const working = JSON.parse(await readFile(WORKING_MANIFEST, 'utf8'));
await replaceFile(MANIFEST, `${JSON.stringify(publishedManifest(working), null, 2)}\n`);

/** The bundler strips types and does not look at them. */
function checkTypes(): void {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const { status, error } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(1);
}

async function writeSchema(name: string, folder: string): Promise<void> {
  const main = join(DIST, 'main.js');
  const { status, error, stdout } = spawnSync(process.execPath, [main, 'schema', name], { encoding: 'utf8' });
  if (error !== undefined || status !== 0)
    throw error ?? new Error(`weir schema ${name} ended with ${status}`);
  // An image is built without the documents.
  await mkdir(join(ROOT, folder), { recursive: true });
  await writeFile(join(ROOT, folder, `${name}.schema.json`), stdout);
}

async function makeExecutable(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (!text.startsWith('#!/usr/bin/env node\n'))
    throw new Error(`${file} does not begin with "#!/usr/bin/env node"`);
  await chmod(file, 0o755);
}
