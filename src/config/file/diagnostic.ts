/** A mistake keeps the configuration from being used; a warning does not. A hint is no reproach: nothing may be wrong at all. */
export type Severity = 'mistake' | 'warning' | 'hint';

/** One thing that is wrong with a configuration file. */
export interface Diagnostic {
  /** The file as the operator named it. */
  readonly file: string;
  /** From 1; null where the file as a whole is meant (it does not exist, it is empty). */
  readonly line: number | null;
  /** From 1, in UTF-16 units as editors count; null exactly when `line` is. */
  readonly column: number | null;
  /** One line that says what is wrong and, where there is one, the way out. Never holds the value of a variable. */
  readonly message: string;
  readonly severity: Severity;
}

/** `file:line:column: what is wrong`, the form that editors and CI systems turn into a link. */
export function formatDiagnostic(problem: Diagnostic): string {
  const place =
    problem.line === null ? problem.file : `${problem.file}:${problem.line}:${problem.column ?? 1}`;
  return `${place}: ${problem.severity === 'mistake' ? '' : `${problem.severity}: `}${problem.message}`;
}

/** In the order of the file, each problem once. */
export function sortDiagnostics(problems: readonly Diagnostic[]): Diagnostic[] {
  const unique = new Map(problems.map(problem => [formatDiagnostic(problem), problem]));
  return [...unique.values()].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}
