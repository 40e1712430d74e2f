import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { changesInSteps, formatDiagnostic, type LoadResult, loadConfig } from '../../src/config/index.ts';
import { atOnce, type Machine } from '../../src/core/index.ts';
import { tempFolder } from './temp.ts';

type Variables = Readonly<Record<string, string>>;

/** The two keys of gateway.yaml that are needed, for tests about the others. */
export const NEEDED = `upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api, authentication: none }]
`;

const GIB = 1024 ** 3;

/** A machine on which every default is what it is where memory is enough. */
export const ROOMY: Machine = {
  ...{ processors: 4, sharesPorts: true, processorLimit: Number.POSITIVE_INFINITY },
  ...{ memoryBytes: 16 * GIB, memoryLimitBytes: Number.POSITIVE_INFINITY, heapLimitBytes: 4 * GIB },
  descriptorLimit: Number.POSITIVE_INFINITY,
};

/** Loads a text as gateway.yaml would be loaded. No variable is set but those given. */
export async function loadText(text: string | Buffer, env: Variables = {}): Promise<LoadResult> {
  return loadFiles({ 'gateway.yaml': text }, env);
}

/** Writes these files into a folder and loads the gateway.yaml among them. */
export async function loadFiles(
  files: Readonly<Record<string, string | Buffer>>,
  env: Variables = {},
): Promise<LoadResult> {
  const folder = await tempFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return loadConfig(join(folder, 'gateway.yaml'), { env, generation: 1, machine: ROOMY });
}

/** Diagnostics as they are printed, without the name of the file: `3:5: what is wrong`. */
export async function diagnosticsIn(text: string | Buffer, env: Variables = {}): Promise<string[]> {
  return diagnosticsOf(await loadText(text, env)).map(diagnostic =>
    diagnostic.replace(/^gateway\.yaml(: |:(?=\d))/, ''),
  );
}

/** Diagnostics as they are printed, with the name of the file but no folder: `gateway.yaml:3:5: what is wrong`. */
export function diagnosticsOf(result: LoadResult): string[] {
  const diagnostics = result.ok ? result.warnings : result.diagnostics;
  return diagnostics.map(diagnostic =>
    formatDiagnostic({ ...diagnostic, file: diagnostic.file.replace(/^.*\//, '') }),
  );
}

/** What changes from one configuration to another, a line each. */
export function changesInWords(...outlines: Parameters<typeof changesInSteps>): string[] {
  return atOnce(changesInSteps(...outlines));
}
