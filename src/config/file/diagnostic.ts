/** An error prevents use of the configuration; a warning is a likely mistake; a hint may well be intended. */
export type Severity = 'error' | 'warning' | 'hint';

/** One finding about a configuration file. */
export interface Diagnostic {
  /** The file as the operator named it. */
  readonly file: string;
  /** The line, from 1; `null` if the diagnostic is about the file as a whole (missing, empty). */
  readonly line: number | null;
  /** The column, from 1, in UTF-16 units as editors count; `null` if `line` is `null`. */
  readonly column: number | null;
  /** One line: what is wrong and what to write instead. Never contains the value of a variable. */
  readonly message: string;
  readonly severity: Severity;
  /** Whether it is about the content or absence of a key, certificate or secret file. Default: false. */
  readonly isContent?: boolean;
}

/** What was read, or why it cannot be used. */
export type Read<Part extends object> =
  | (Part & { readonly ok: true })
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** Formats a diagnostic as `file:line:column: what is wrong`, which many editors and CI systems turn into a link. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const place =
    diagnostic.line === null
      ? diagnostic.file
      : `${diagnostic.file}:${diagnostic.line}:${diagnostic.column ?? 1}`;
  return `${place}: ${diagnostic.severity === 'error' ? '' : `${diagnostic.severity}: `}${diagnostic.message}`;
}

/** Sorts diagnostics by place and removes duplicates. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const unique = new Map(diagnostics.map(diagnostic => [formatDiagnostic(diagnostic), diagnostic]));
  return [...unique.values()].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

/** The path from the top of a file to a value: keys of maps, indices of lists. */
export type Path = readonly (string | number)[];

/** Formats a path for messages: `routes[0].timeouts.idle`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** A map as written: its values may be invalid. */
export type RawMap = Readonly<Record<string, unknown>>;

/** Returns the value if it is a map, else an empty map. */
export function asMap(value: unknown): RawMap {
  return isMap(value) ? value : {};
}

export function isMap(value: unknown): value is RawMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a list, else an empty list. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textsIn(value: unknown): string[] {
  return asList(value).filter(entry => typeof entry === 'string');
}
