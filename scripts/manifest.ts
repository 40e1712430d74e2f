import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

/** The manifest that npm reads. */
export const MANIFEST = join(ROOT, 'package.json');

/** Holds the working tree's manifest while the published one replaces it. */
export const WORKING_MANIFEST = join(ROOT, 'package.working.json');

/**
 * The keys of the manifest that are published. An allow list, so that a new key is not published by accident. `private` is
 * not on it: in the working tree it keeps `npm publish` from sending that manifest to the registry.
 */
const PUBLISHED_KEYS = new Set([
  'name',
  'version',
  'description',
  'keywords',
  'homepage',
  'bugs',
  'repository',
  'license',
  'type',
  'engines',
  'dependencies',
]);

/** The files of the package. The demo needs development packages, so it is left out. */
const PUBLISHED_FILES = ['dist', 'config', '!config/demo', 'docs', 'CHANGELOG.md', 'NOTICE', 'SECURITY.md'];

/** Makes the published manifest from the working tree's. */
export function publishedManifest(working: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(working).filter(([key]) => PUBLISHED_KEYS.has(key));
  return { ...Object.fromEntries(kept), bin: { weir: 'dist/main.js' }, files: PUBLISHED_FILES };
}

/** Replaces a file atomically: readers never see half of it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
