/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Resolved =
  | { readonly ok: true; readonly text: string }
  /** What is wrong, one sentence a variable. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** `$${`, or a variable up to its end, or what only begins like one. */
const VARIABLE = /\$\$\{|\$\{([^}]*)(\}?)/g;
/** A name, and what stands for the variable where it is not set. */
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?$/s;

// What stands in the braces is not repeated unless it is a name: it may be a secret.
const NO_NAME = `only a name, or a name with a default as in \${NAME:-text}, may be inside \${ }; write $\${ for a literal \${`;
const NOT_CLOSED = `a "\${" is not closed: write \${NAME}, or $\${ for a literal \${`;

/**
 * Replaces each `${NAME}` by that variable's value; `$${` stands for a literal `${`. An unset variable is a mistake
 * rather than nothing: an empty host or path would be a valid configuration with another meaning. `${NAME:-text}` is the text
 * where the variable is unset or empty, as in a shell. What a variable holds is taken as it is, and not searched for further
 * variables.
 */
export function resolveVariables(text: string, environment: Environment): Resolved {
  const mistakes: string[] = [];
  const resolved = text.replaceAll(VARIABLE, (_, inside?: string, end?: string) => {
    if (inside === undefined) return '${';
    const [, name, usual] = (end === '}' ? INSIDE.exec(inside) : null) ?? [];
    if (name === undefined) {
      mistakes.push(end === '}' ? NO_NAME : NOT_CLOSED);
      return '';
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (usual !== undefined) return value === undefined || value === '' ? usual : value;
    if (value === undefined) mistakes.push(`the environment variable ${name} is not set`);
    return value ?? '';
  });
  return mistakes.length === 0 ? { ok: true, text: resolved } : { ok: false, mistakes };
}
