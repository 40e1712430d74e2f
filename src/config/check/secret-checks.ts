import type { ConfigFile, Path } from '../file/index.ts';
import { EACH, gatewaySchema, secretInFile, secretPaths } from '../schema/index.ts';

/**
 * Reports secrets written into gateway.yaml, since the history and copies of that file are not protected. Checks the raw file, so that a secret is
 * reported whatever else is wrong.
 */
export function checkSecrets(file: ConfigFile): void {
  for (const path of secretsIn(file))
    if (file.has(path) && !file.isVariable(path)) file.add(path, secretInFile(String(path.at(-1))));
}

/** The paths of all secrets, given or not. */
export function secretsIn(file: ConfigFile): Path[] {
  return SECRET_PATHS.flatMap(path => pathsIn(file, path));
}

/** The paths that a path stands for: one for each entry of a list. */
function pathsIn(file: ConfigFile, path: Path): Path[] {
  const at = path.indexOf(EACH);
  if (at === -1) return [path];
  const list = file.valueAt(path.slice(0, at));
  return Array.isArray(list) ? list.map((_, index) => path.with(at, index)) : [];
}

const SECRET_PATHS = secretPaths(gatewaySchema);
