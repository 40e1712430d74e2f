import { readFileSync } from 'node:fs';

/** Reads the version of this package from its manifest. */
export function readVersion(): string {
  // Two folders up from src/core/ and, when compiled, from dist/core/.
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('package.json has no version');
}
