import type { ConfigFile } from '../file/index.ts';
import { gatewaySchema, secretInFile, secretPaths } from '../schema/index.ts';

/**
 * Secrets come from files or the environment, never from gateway.yaml itself: its history and its copies are not protected.
 * Checks the file as it was read, so that a secret in it is reported whatever else is wrong.
 */
export function checkSecrets(file: ConfigFile): void {
  for (const path of SECRET_PATHS)
    if (file.has(path) && !file.isVariable(path)) file.add(path, secretInFile(String(path.at(-1))));
}

const SECRET_PATHS = secretPaths(gatewaySchema);
