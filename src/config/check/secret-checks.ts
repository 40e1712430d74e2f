import type { ConfigFile } from '../file/index.ts';
import { gatewaySchema, secretInFile, secretPaths } from '../schema/index.ts';

/**
 * Reports secrets written into gateway.yaml, since the history and copies of that file are not protected. Checks the raw file, so that a secret is
 * reported whatever else is wrong.
 */
export function checkSecrets(file: ConfigFile): void {
  for (const path of SECRET_PATHS)
    if (file.has(path) && !file.isVariable(path)) file.add(path, secretInFile(String(path.at(-1))));
}

const SECRET_PATHS = secretPaths(gatewaySchema);
