import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

/** The manifest that npm reads. */
export const MANIFEST = join(ROOT, 'package.json');

/** Holds the working tree's manifest while the published one replaces it. */
export const WORKING_MANIFEST = join(ROOT, 'package.working.json');

/**
 * The keys of the manifest that are published. An allow list, so that a new key is not published by accident. `private` is
 * not on it: in the working tree it keeps `npm publish` from sending that manifest to the registry. `dependencies` is not
 * either: they are inside the bundle, and npm would install each a second time.
 */
const PUBLISHED_KEYS = new Set([
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'type',
  'engines',
  'peerDependencies',
  'peerDependenciesMeta',
]);

/** The files of the package, beside the README and the licence, which npm adds. */
const PUBLISHED_FILES = [
  'dist',
  'config',
  'helm/weir',
  'docs',
  'systemd',
  'CHANGELOG.md',
  'UPGRADE.md',
  'NOTICE',
  'SECURITY.md',
];

/**
 * What `weir demo` needs beyond the gateway. Optional, so that a server installs without it (`npm install --omit=optional`). In the
 * working tree it is a development dependency, because `optionalDependencies` there holds the development Node.
 */
const DEMO_DEPENDENCY = 'oidc-provider';

/** The working tree's manifest, as far as it is looked into. */
export interface WorkingManifest extends Readonly<Record<string, unknown>> {
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function publishedManifest(
  working: WorkingManifest,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, unknown> {
  const kept = Object.entries(working).filter(([key]) => PUBLISHED_KEYS.has(key));
  return {
    ...Object.fromEntries(kept),
    ...homeOf(env),
    optionalDependencies: { [DEMO_DEPENDENCY]: working.devDependencies[DEMO_DEPENDENCY] },
    bin: { weir: 'dist/main.js' },
    files: PUBLISHED_FILES,
    // Nobody publishes by hand what no workflow vouches for.
    publishConfig: { access: 'public', provenance: true },
  };
}

/** Where the package comes from: the registry compares it with the workflow that publishes. Unknown outside of one. */
function homeOf({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name }: NodeJS.ProcessEnv): object {
  if (server === undefined || name === undefined) return {};
  const home = `${server}/${name}`;
  return {
    homepage: `${home}#readme`,
    bugs: { url: `${home}/issues` },
    repository: { type: 'git', url: `git+${home}.git` },
  };
}

/** Replaces a file atomically: readers never see half of it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
