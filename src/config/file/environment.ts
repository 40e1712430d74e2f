/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Resolved =
  | { readonly ok: true; readonly text: string }
  /** What is wrong, one sentence per variable. */
  | { readonly ok: false; readonly errors: readonly string[] };

/** `$${`, a variable, or the start of an unclosed one. */
const VARIABLE = /\$\$\{|\$\{([^}]*)(\}?)/g;
/** A name and an optional default. */
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?$/s;

// Messages repeat the text in the braces only if it is a name: anything else may be a secret.
const NO_NAME = `only a name, or a name with a default as in \${NAME:-text}, may be inside \${ }; write $\${ for a literal \${`;
const NOT_CLOSED = `a "\${" is not closed: write \${NAME}, or $\${ for a literal \${`;

/**
 * Replaces each `${NAME}` by the value of that variable; `$${` is a literal `${`. An unset variable is an error, not an empty
 * text: an empty host or path would be a valid configuration with another meaning. `${NAME:-text}` falls back to the text if
 * the variable is unset or empty, as in a shell. Values are not searched for further variables.
 */
export function resolveVariables(text: string, environment: Environment): Resolved {
  const errors: string[] = [];
  const resolved = text.replaceAll(VARIABLE, (_, inside?: string, end?: string) => {
    if (inside === undefined) return '${';
    const [, name, usual] = (end === '}' ? INSIDE.exec(inside) : null) ?? [];
    if (name === undefined) {
      errors.push(end === '}' ? NO_NAME : NOT_CLOSED);
      return '';
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (usual !== undefined) return value === undefined || value === '' ? usual : value;
    if (value === undefined) errors.push(`the environment variable ${name} is not set`);
    return value ?? '';
  });
  return errors.length === 0 ? { ok: true, text: resolved } : { ok: false, errors };
}
