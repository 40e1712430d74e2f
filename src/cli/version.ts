import { readFileSync } from 'node:fs';

/** The version of this package, as its manifest says. */
export function readVersion(): string {
  // This file is one folder deep in src/ and, compiled, in dist/: the manifest is two up from both.
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('package.json has no version');
}
