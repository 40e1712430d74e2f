import { secretsIn } from './check/index.ts';
import type { Diagnostic, Environment } from './file/index.ts';
import { asMap, ConfigFile, Readings } from './file/index.ts';
import { limitsSchema } from './limits/index.ts';
import * as settings from './settings/index.ts';

// Decides whether a file is a gateway.yaml, and which of its errors count: for all code that reads one, completely (load.ts) or in
// part.

/**
 * Reads a file as gateway.yaml. Adds an error if it is a limits.yaml.
 *
 * @param instead what to tell the operator to name instead
 */
export async function readGateway(
  path: string,
  env: Environment,
  readings = new Readings(),
  instead = 'name the gateway.yaml that refers to it under "limits"',
) {
  const file = await ConfigFile.read(path, env, readings, settings.gatewaySecrecy);
  const isLimits = holdsLimits(file.value);
  if (isLimits) file.add([], `this is a limits file: ${instead}`);
  return { file, isLimits };
}

/** Whether a file is limits.yaml and not gateway.yaml: it has only keys of limits.yaml, not just the common "routes". */
export function holdsLimits(value: unknown): boolean {
  const keys = Object.keys(asMap(value));
  const isOfLimits = (key: string) => Object.hasOwn(limitsSchema.shape, key);
  return keys.every(isOfLimits) && keys.some(key => !Object.hasOwn(settings.gatewaySchema.shape, key));
}

/** The errors of a gateway.yaml, except those about missing secrets: an unset variable, or a missing or wrong file. */
export function errorsExceptSecrets(file: ConfigFile): Diagnostic[] {
  const secrets = secretsIn(file)
    .filter(path => file.isVariable(path))
    .map(path => file.place(path));
  return errorsOf(file).filter(
    ({ line, column, isContent = false }) =>
      !isContent && !secrets.some(place => place.line === line && place.column === column),
  );
}

/** All errors of a file, in the order in which they were found. */
export function errorsOf({ diagnostics }: ConfigFile): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}
