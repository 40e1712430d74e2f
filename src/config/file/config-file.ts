import { type Diagnostic, type Severity, sortDiagnostics } from './diagnostic.ts';
import type { Environment } from './environment.ts';
import { formatPath, type Path } from './path.ts';
import { readConfigFile } from './read-file.ts';
import type { Readings } from './readings.ts';
import { withoutSecrets } from './secret-lines.ts';
import { type Place, parseYamlText } from './yaml-text.ts';
import { buildYamlTree, fillScalar, nodeAt, type YamlNode } from './yaml-tree.ts';

/** Whether a problem is about the value at a path or about the last key of the path, which then is part of the message. */
export type About = 'value' | 'key';

/**
 * One file of the configuration: what it says, where it says it, and what is wrong with it so far. The stages that read
 * on add their problems by path; where something is broken already, nothing further is added.
 */
export class ConfigFile {
  readonly name: string;
  /** Where it is noted what was read, also of the files that this one names. */
  readonly readings: Readings;
  /** Why nothing could be read of it, with and without its name; null: something could. Also one of its problems. */
  readonly unreadable: { readonly message: string; readonly reason: string } | null;
  readonly #root: YamlNode | null;
  readonly #problems: Diagnostic[];
  readonly #said = new Set<string>();

  private constructor(
    name: string,
    readings: Readings,
    root: YamlNode | null,
    problems: Diagnostic[],
    unreadable: ConfigFile['unreadable'] = null,
  ) {
    this.name = name;
    this.readings = readings;
    this.unreadable = unreadable;
    this.#root = root;
    this.#problems = problems;
  }

  /** Never throws: whatever keeps the file from being read is one of its problems. */
  static async read(name: string, environment: Environment, readings: Readings): Promise<ConfigFile> {
    const read = await readConfigFile(name);
    readings.note(name, 'text', read);
    if (!read.ok) {
      const { problem, reason } = read;
      const unreadable = problem.line === null ? { message: problem.message, reason } : null;
      return new ConfigFile(name, readings, null, [problem], unreadable);
    }
    const { document, mistakes, placeOf } = parseYamlText(read.text);
    const tree = document?.contents ? buildYamlTree(document, placeOf, environment) : null;
    const problems = withoutSecrets([...mistakes, ...(tree?.mistakes ?? [])], read.text).map(mistake => ({
      ...mistake,
      file: name,
      severity: 'mistake' as const,
    }));
    if (document?.contents === null) {
      const message = 'the file is empty, or all of it is commented out';
      problems.push({ file: name, line: 1, column: 1, message, severity: 'mistake' });
    }
    return new ConfigFile(name, readings, tree?.root ?? null, problems);
  }

  /** What the file means, or undefined when it cannot be told. */
  get value(): unknown {
    return this.#root === null || this.#root.broken ? undefined : this.#root.value;
  }

  get problems(): Diagnostic[] {
    return sortDiagnostics(this.#problems);
  }

  get hasMistakes(): boolean {
    return this.#problems.some(problem => problem.severity === 'mistake');
  }

  has(path: Path): boolean {
    return this.#root !== null && nodeAt(this.#root, path).exact;
  }

  /** What stands at `path`, for a message: `"5 s"`, `2000`, `a map`. Never what a variable holds. */
  shown(path: Path): string {
    const found = this.#find(path);
    if (found?.exact !== true || found.node.written === '') return 'nothing';
    const { written, value } = found.node;
    if (written === null) return Array.isArray(value) ? 'a list' : 'a map';
    const short = written.length > 60 ? `${written.slice(0, 60)}...` : written;
    return typeof value === 'string' || this.holdsVariable(path) ? JSON.stringify(short) : short;
  }

  /** Whether nothing but a variable stands at `path`, `${NAME}`. */
  isVariable(path: Path): boolean {
    return /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(this.#find(path)?.node.written ?? '');
  }

  /** Whether the text at `path` is another than the one written: a variable was resolved. */
  holdsVariable(path: Path): boolean {
    const found = this.#find(path);
    return found?.node.written?.includes('${') === true;
  }

  /** The text at `path` with its variables resolved; for a look only, never for a message. */
  textAt(path: Path): string {
    return String(this.#find(path)?.node.value);
  }

  /** Puts the number, or the true or false, that the text at `path` was found to be in its place. */
  fill(path: Path, value: number | boolean): void {
    if (this.#root !== null) fillScalar(this.#root, path, value);
  }

  place(path: Path, about: About = 'value'): Place {
    const found = this.#find(path);
    if (found === undefined) return { line: 1, column: 1 };
    const { node } = found;
    // A key without a value has nothing else to point at.
    const key = about === 'key' || node.written === '';
    return (key ? node.keyPlace : null) ?? node.place;
  }

  add(
    path: Path,
    message: string,
    options: { readonly about?: About; readonly severity?: Severity } = {},
  ): void {
    const found = this.#find(path);
    if (found?.exact === true && found.node.broken && options.about !== 'key') return;
    const { line, column } = this.place(path, options.about);
    // Aliases bring the same lines to many places; what is wrong with them is said once.
    const once = `${line}:${column}:${message}`;
    if (this.#said.has(once)) return;
    this.#said.add(once);
    const prefix = formatPath(options.about === 'key' ? path.slice(0, -1) : path);
    const text = prefix === '' ? message : `${prefix}: ${message}`;
    this.#problems.push({
      file: this.name,
      line,
      column,
      message: text,
      severity: options.severity ?? 'mistake',
    });
  }

  #find(path: Path): { readonly node: YamlNode; readonly exact: boolean } | undefined {
    return this.#root === null ? undefined : nodeAt(this.#root, path);
  }
}
