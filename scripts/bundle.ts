import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type OutputBundle, type Plugin, rolldown } from 'rolldown';
import { ROOT } from './manifest.ts';

/**
 * Not inside: the demo's provider, so that a server installs without it, and what `debug`, which ioredis brings, uses where it
 * happens to be installed.
 */
const SEPARATE = new Set(['oidc-provider', 'supports-color']);
/** Stays a package of its own where src/ imports it: the exporter of an operator has to find the same one. */
const PEERS = /^@opentelemetry\//;
/** The folder of a package in the identifier of a module of it. */
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;

/** What src/ imports of node:http. */
const HTTP_NAMES = ['Agent', 'METHODS', 'STATUS_CODES', 'createServer', 'request'];

/**
 * Takes node:http without what it offers of `fetch`. An `import` of it reads all that it exports, and with `WebSocket` Node.js loads
 * the whole of undici: 14 MB and 23 ms of processor time.
 */
const plainHttp: Plugin = {
  name: 'plain-http',
  resolveId: id => (id === 'node:http' ? '\0plain-http' : null),
  load: id =>
    id === '\0plain-http'
      ? `export const { ${HTTP_NAMES.join(', ')} } = process.getBuiltinModule('node:http');`
      : null,
};

/**
 * Writes characters beyond ASCII as escapes. Node.js reads a script that has one of them into two bytes for each character, also where one
 * would do: every thread would take 1.6 MiB more for the largest.
 */
const asciiScripts: Plugin = {
  name: 'ascii-scripts',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = inAscii(file.code);
  },
};

/**
 * Writes src/ and the packages that it imports to a few scripts in dist/: one file for what every command needs, and one for each
 * part that some load later.
 *
 * @param further scripts of a test that run parts of src/, by name
 * @returns the folders of the packages that are inside, in order
 */
export async function bundle(
  dist: string,
  further: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  await rm(dist, { recursive: true, force: true });
  const build = await rolldown({
    cwd: ROOT,
    input: { main: 'src/main.ts', ...further },
    platform: 'node',
    tsconfig: false,
    plugins: [plainHttp, asciiScripts],
    external: (name, importer) =>
      SEPARATE.has(name) || (PEERS.test(name) && importer?.startsWith(join(ROOT, 'src/')) === true),
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`);
    },
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    // Two folders below the root, as src/core/ is: src/core/package.ts.
    chunkFileNames: 'chunks/[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { annotation: false, jsdoc: false, legal: false },
  });
  return packagesIn(output);
}

function inAscii(code: string): string {
  return code.replaceAll(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function packagesIn(output: OutputBundle[string][]): string[] {
  const modules = output.flatMap(file => (file.type === 'chunk' ? file.moduleIds : []));
  const folders = modules.map(module => PACKAGE_FOLDER.exec(module)?.[0] ?? null);
  return [...new Set(folders.filter(folder => folder !== null))].sort();
}
