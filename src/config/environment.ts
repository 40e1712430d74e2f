/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Resolved =
  | { readonly ok: true; readonly text: string }
  /** What is wrong, one sentence a variable. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/**
 * Replaces each `${NAME}` by that variable's value; `$${` stands for a literal `${`. An unset variable is a mistake
 * rather than nothing: an empty host or path would be a valid configuration with another meaning. What a variable holds
 * is taken as it is, and not searched for further variables.
 */
export function resolveVariables(text: string, environment: Environment): Resolved {
  const mistakes: string[] = [];
  const resolved = text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (match, name?: string, end?: string) => {
    if (name === undefined) return '${';
    const value =
      end === '}' && isName(name) && Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) mistakes.push(whyUnresolved(match, name, end === '}'));
    return value ?? '';
  });
  return mistakes.length === 0 ? { ok: true, text: resolved } : { ok: false, mistakes };
}

function whyUnresolved(match: string, name: string, ended: boolean): string {
  if (ended && isName(name)) return `the environment variable ${name} is not set`;
  return `"${match}" names no environment variable: write \${NAME}, or $\${ for a literal \${`;
}

function isName(text: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text);
}
