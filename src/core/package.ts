import { readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';

/** The folder of this package: two folders up from src/core/ in a checkout, and from dist/chunks/ in the bundle. */
export const PACKAGE_ROOT = resolve(import.meta.dirname, '../..');

/** The script that a process or a worker starts with: one folder up from src/core/, and from dist/chunks/ in the bundle. */
export const MAIN_SCRIPT = new URL(`../main${extname(import.meta.filename)}`, import.meta.url);

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('package.json has no version');
}
