import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkLimits } from './check/index.ts';
import { limitsIn, type ReadLimits, readLimitsAlone } from './compile/index.ts';
import { ConfigFile, type Diagnostic, type Environment, Readings } from './file/index.ts';
import { holdsLimits } from './holds-limits.ts';
import { type LoadedConfig, loadConfig } from './load.ts';
import { type LimitsConfig, limitsSecrecy } from './schema/index.ts';

/** What a file or folder named on the command line turned out to hold. */
export type Loaded =
  | { readonly kind: 'configuration'; readonly file: string; readonly config: LoadedConfig }
  | { readonly kind: 'limits'; readonly limits: LimitsConfig }
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] };

/**
 * Reads a gateway.yaml with the files it names, or limits alone: a limits.yaml, or a folder of them. A folder with a gateway.yaml
 * stands for that. Secrets and certificates may be missing: to compare configurations takes none of them.
 */
export async function loadEither(path: string, env: Environment): Promise<Loaded> {
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return loadFile(path, env);
  const inside = join(path, 'gateway.yaml');
  const hasGateway = await access(inside).then(
    () => true,
    () => false,
  );
  return hasGateway ? loadFile(inside, env) : checked(await readLimitsAlone(path, env));
}

async function loadFile(path: string, env: Environment): Promise<Loaded> {
  // Read once: it may be a pipe, such as <(git show HEAD:limits.yaml).
  const file = await ConfigFile.read(path, env, new Readings(), limitsSecrecy);
  if (file.value === undefined && file.hasErrors) return { kind: 'invalid', diagnostics: file.diagnostics };
  if (holdsLimits(file.value)) return checked(limitsIn([file]));
  const config = await loadConfig(path, { env, generation: 1, mayLackSecrets: true });
  return config.ok
    ? { kind: 'configuration', file: path, config }
    : { kind: 'invalid', diagnostics: config.diagnostics };
}

function checked({ limits, files }: ReadLimits): Loaded {
  if (files !== null) checkLimits(files, null);
  const diagnostics = files?.files.flatMap(file => file.diagnostics) ?? [];
  if (limits !== undefined && files?.hasErrors === false) return { kind: 'limits', limits };
  return { kind: 'invalid', diagnostics: diagnostics.filter(({ severity }) => severity === 'error') };
}
