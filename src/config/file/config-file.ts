import { dirname, isAbsolute, resolve } from 'node:path';
import { type Diagnostic, formatPath, type Path, sortDiagnostics } from './diagnostic.ts';
import type { Position } from './place.ts';
import { type Readings, readConfigFile, type Secrecy } from './readings.ts';
import { type About, Reporter } from './reporter.ts';
import { SecretLines } from './secret-lines.ts';
import { parseYamlText } from './yaml-text.ts';
import {
  buildYamlTree,
  type Environment,
  fillScalar,
  nodeAt,
  shareNode,
  type YamlNode,
} from './yaml-tree.ts';

/** Maximum diagnostics per severity. More would only fill the log and the status page. */
const MAX_DIAGNOSTICS = 200;

interface FileContent extends Pick<ConfigFile, 'unreadable'> {
  readonly root: YamlNode | null;
  readonly diagnostics: Diagnostic[];
  readonly lines: SecretLines;
}

/**
 * One file of the configuration: its values, their places, and the diagnostics so far. Later stages add diagnostics by path;
 * a value that is already broken gets no others.
 */
export class ConfigFile extends Reporter {
  readonly name: string;
  /** The content of this file, and of the files that it names, as read. */
  readonly readings: Readings;
  /** Why the file could not be read, with and without its name, as one of the diagnostics says; `null` if it could. */
  readonly unreadable: { readonly message: string; readonly reason: string } | null;
  readonly #root: YamlNode | null;
  readonly #diagnostics: Diagnostic[];
  readonly #lines: SecretLines;
  readonly #secrecy: Secrecy;
  readonly #said = new Set<string>();
  /** The variables that it may refer to. */
  readonly environment: Environment;

  private constructor(
    name: string,
    readings: Readings,
    secrecy: Secrecy,
    environment: Environment,
    { root, diagnostics, lines, unreadable }: FileContent,
  ) {
    super();
    this.name = name;
    this.readings = readings;
    this.unreadable = unreadable;
    this.#root = root;
    this.#diagnostics = diagnostics;
    this.#lines = lines;
    this.#secrecy = secrecy;
    this.environment = environment;
  }

  /** Never throws: if the file cannot be read, a diagnostic says why. */
  static async read(
    name: string,
    environment: Environment,
    readings: Readings,
    secrecy: Secrecy,
  ): Promise<ConfigFile> {
    const read = await readConfigFile(name, readings.files);
    readings.note(name, 'text', read);
    if (!read.ok) {
      const { diagnostic, reason } = read;
      const unreadable = diagnostic.line === null ? { message: diagnostic.message, reason } : null;
      const content = { root: null, diagnostics: [diagnostic], lines: new SecretLines('', []), unreadable };
      return new ConfigFile(name, readings, secrecy, environment, content);
    }
    const { document, errors, secrets, placeOf } = parseYamlText(read.text, secrecy.keys);
    const tree = document?.contents ? buildYamlTree(document, placeOf, environment) : null;
    const diagnostics = [...errors, ...(tree?.errors ?? [])].map(error => ({
      ...secrets.advise(error),
      file: name,
      severity: 'error' as const,
    }));
    if (document?.contents === null) {
      const message = 'the file is empty, or all of it is commented out';
      diagnostics.push({ file: name, line: 1, column: 1, message, severity: 'error' });
    }
    const content = { root: tree?.root ?? null, diagnostics, lines: secrets, unreadable: null };
    return new ConfigFile(name, readings, secrecy, environment, content);
  }

  /** The value of the whole file; `undefined` if it is unknown. */
  get value(): unknown {
    return this.#root === null || this.#root.broken ? undefined : this.#root.value;
  }

  /** The findings in file order. If a severity has very many, the first ones and the number of the others. */
  get diagnostics(): Diagnostic[] {
    const kinds = Object.values(
      Object.groupBy(sortDiagnostics(this.#diagnostics), ({ severity }) => severity),
    );
    return sortDiagnostics(kinds.flatMap(diagnostics => this.#firstOf(diagnostics)));
  }

  #firstOf(diagnostics: readonly Diagnostic[]): Diagnostic[] {
    const shown = diagnostics.slice(0, MAX_DIAGNOSTICS);
    const [last] = shown.slice(-1);
    const left = diagnostics.length - shown.length;
    return last === undefined || left === 0
      ? shown
      : [...shown, { ...last, message: `and ${left} more below, not shown: is this the right file?` }];
  }

  get hasErrors(): boolean {
    return this.#diagnostics.some(diagnostic => diagnostic.severity === 'error');
  }

  has(path: Path): boolean {
    return this.#root !== null && nodeAt(this.#root, path).exact;
  }

  /** Shows the value at `path` in a message: `"5 s"`, `2000`, `a map`. Never a secret or the value of a variable. */
  shown(path: Path): string {
    const found = this.#find(path);
    if (found?.exact !== true || found.node.written === '') return 'nothing';
    const { written, value } = found.node;
    if (written === null)
      return !Array.isArray(value) ? 'a map' : value.length === 0 ? 'an empty list' : 'a list';
    if (this.hides(path) && !this.isVariable(path)) return typeof value === 'string' ? 'text' : 'a value';
    const short = this.#lines.quotable(written);
    return typeof value === 'string' || this.holdsVariable(path) ? JSON.stringify(short) : short;
  }

  /** Whether messages must not repeat the value at `path`, because it is or may contain a secret. */
  hides(path: Path): boolean {
    return this.#secrecy.hides(path);
  }

  /** Whether the value at `path` is exactly one variable, `${NAME}`. */
  isVariable(path: Path): boolean {
    return /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(this.#find(path)?.node.written ?? '');
  }

  holdsVariable(path: Path): boolean {
    const found = this.#find(path);
    return found?.node.written?.includes('${') === true;
  }

  /** The text at `path` as written, if it contains a variable; else null. */
  variableText(path: Path): string | null {
    const found = this.#find(path);
    return found?.exact === true && found.node.written?.includes('${') === true ? found.node.written : null;
  }

  /** Shows the last key of `path` in a message: quoted, or paraphrased if it may be part of a secret. */
  shownKey(path: Path): string {
    const quoted = this.#lines.quoteKey(String(path.at(-1)), this.place(path, 'key').line);
    return quoted ?? 'in a line with a secret, which is not shown';
  }

  /** The value at `path` with variables resolved, or undefined. Never put it into a message. */
  valueAt(path: Path): unknown {
    const found = this.#find(path);
    return found?.exact === true ? found.node.value : undefined;
  }

  /** Replaces the value at `path` by the parsed one. */
  fill(path: Path, value: string | number | boolean): void {
    if (this.#root !== null) fillScalar(this.#root, path, value);
  }

  /**
   * Adds the value at `from`, without some of its members, to a map as well, as an alias would. Messages about it still show its
   * original place.
   */
  share(from: Path, to: Path, without: readonly string[] = []): void {
    if (this.#root !== null) shareNode(this.#root, from, to, without);
  }

  place(path: Path, about: About = 'value'): Position {
    const found = this.#find(path);
    if (found === undefined) return { line: 1, column: 1 };
    const { node } = found;
    // For a key without a value, point at the key.
    const key = about === 'key' || node.written === '';
    return (key ? node.keyPlace : null) ?? node.place;
  }

  add(path: Path, message: string, options: Parameters<Reporter['add']>[2] = {}): void {
    const found = this.#find(path);
    if (found?.exact === true && found.node.broken && options.about !== 'key') return;
    const { line, column } = this.place(path, options.about);
    // Aliases repeat the same lines in many places; report each error once.
    const once = `${line}:${column}:${message}`;
    if (this.#said.has(once)) return;
    this.#said.add(once);
    const prefix = formatPath(options.about === 'key' ? path.slice(0, -1) : path);
    const text = prefix === '' ? message : `${prefix}: ${message}`;
    this.#diagnostics.push({
      file: this.name,
      line,
      column,
      message: text,
      severity: options.severity ?? 'error',
      ...(options.isContent === true && { isContent: true }),
    });
  }

  #find(path: Path): { readonly node: YamlNode; readonly exact: boolean } | undefined {
    return this.#root === null ? undefined : nodeAt(this.#root, path);
  }
}

/**
 * Reads a file that `file` names at `at`, such as a key or a secret, without trailing line ends. Returns `undefined` if none is
 * named, and `null` if it is unusable, which was reported. The error reveals neither the content nor the name, because some
 * operators write the secret itself in place of the name.
 */
export async function readNamedText(file: ConfigFile, at: Path): Promise<string | null | undefined> {
  const name = file.valueAt(at);
  if (name === undefined) return undefined;
  // Validation reports any other type.
  if (typeof name !== 'string' || name === '') return null;
  if (/[\r\n]|-----BEGIN/.test(name)) {
    file.add(at, 'write the path of the file here, not its content');
    return null;
  }
  const path = resolve(dirname(file.name), name);
  const read = await readConfigFile(path, file.readings.files);
  file.readings.note(path, 'secret', read);
  if (!read.ok) {
    const reason = read.diagnostic.line === null ? read.reason : 'the file is not UTF-8 text';
    const where = isAbsolute(name) ? '' : ` (looked for in ${resolve(dirname(file.name))})`;
    file.add(at, `${reason}${where}`, { isContent: true });
    return null;
  }
  const text = read.text.replace(/[\r\n]+$/, '');
  if (text === '') file.add(at, 'the file is empty', { isContent: true });
  return text === '' ? null : text;
}
