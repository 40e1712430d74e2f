import { secretsIn } from './check/index.ts';
import type { ConfigFile, Diagnostic } from './file/index.ts';

/** The errors of a gateway.yaml, except that the variable of a secret is not set. */
export function errorsBesideSecrets(file: ConfigFile): Diagnostic[] {
  const secrets = secretsIn(file)
    .filter(path => file.isVariable(path))
    .map(path => file.place(path));
  return errorsOf(file).filter(
    ({ line, column }) => !secrets.some(place => place.line === line && place.column === column),
  );
}

export function errorsOf({ diagnostics }: ConfigFile): Diagnostic[] {
  return diagnostics.filter(({ severity }) => severity === 'error');
}
