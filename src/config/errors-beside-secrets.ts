import { secretsIn } from './check/index.ts';
import type { ConfigFile, Diagnostic } from './file/index.ts';

/** The errors of a gateway.yaml, except that the variable of a secret is not set, or that a file with one is missing or wrong. */
export function errorsBesideSecrets(file: ConfigFile): Diagnostic[] {
  const secrets = secretsIn(file)
    .filter(path => file.isVariable(path))
    .map(path => file.place(path));
  return errorsOf(file).filter(
    ({ line, column, isContent = false }) =>
      !isContent && !secrets.some(place => place.line === line && place.column === column),
  );
}

export function errorsOf({ diagnostics }: ConfigFile): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}
