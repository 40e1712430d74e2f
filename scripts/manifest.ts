import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

/** The manifest that npm reads. */
export const MANIFEST = join(ROOT, 'package.json');

/** Where the working tree's manifest waits while the published one stands in its place. */
export const WORKING_MANIFEST = join(ROOT, 'package.working.json');

/**
 * What is published of the manifest. A list of what stays, not of what goes: a key that is new in the working tree is
 * not published by accident. `private` stays behind as well, where it keeps `npm publish` from sending the working
 * tree's manifest to the registry.
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

/** What the package holds beside its manifest. The demo needs the development packages and stays out. */
const PUBLISHED_FILES = ['dist', 'config', '!config/demo', 'docs', 'CHANGELOG.md', 'NOTICE', 'SECURITY.md'];

/** The published manifest, made from the working tree's. */
export function publishedManifest(working: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(working).filter(([key]) => PUBLISHED_KEYS.has(key));
  return { ...Object.fromEntries(kept), bin: { weir: 'dist/main.js' }, files: PUBLISHED_FILES };
}

/** Writes a file so that nobody ever sees half of it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
