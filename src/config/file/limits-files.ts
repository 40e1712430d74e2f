import type { ConfigFile } from './config-file.ts';
import { asMap, isMap, type Path } from './diagnostic.ts';
import { type About, Reporter } from './reporter.ts';

/** Maps whose entries may be spread over several files. All other keys must be in one file. */
const SHARED_MAPS: readonly string[] = ['buckets', 'routes'];

/** The files of a limits folder, or the single limits.yaml, as one. A diagnostic goes to the file that has its path. */
export class LimitsFiles extends Reporter {
  readonly files: readonly ConfigFile[];
  /** The merged value; undefined if the value of one file is unknown. */
  readonly value: unknown;
  /** The file of each key, and of each entry of a shared map. */
  readonly #owners = new Map<string, ConfigFile>();

  /** Adds an error to each file that repeats a key of an earlier one. */
  constructor(files: readonly ConfigFile[]) {
    super();
    this.files = files;
    const [only] = files;
    this.value = files.length === 1 && only !== undefined ? only.value : this.#merge();
  }

  get hasErrors(): boolean {
    return this.files.some(file => file.hasErrors);
  }

  has(path: Path): boolean {
    return this.#fileOf(path)?.has(path) === true;
  }

  shown(path: Path): string {
    return this.#fileOf(path)?.shown(path) ?? 'nothing';
  }

  /** The text at a path as written, if it contains a variable; else null. */
  variableText(path: Path): string | null {
    return this.#fileOf(path)?.variableText(path) ?? null;
  }

  place(path: Path, about?: About): { readonly file: string; readonly line: number } {
    const file = this.#fileOf(path);
    return { file: file?.name ?? '', line: file?.place(path, about).line ?? 1 };
  }

  /** Names the lines of `paths` for a message at `from`: `line 3, 7`, with the file name if it differs. */
  linesOf(paths: readonly Path[], from: Path): string {
    const places = paths.map(path => this.place(path, 'key'));
    const own = this.#fileOf(from)?.name;
    const files = [...new Set(places.map(({ file }) => file))];
    const texts = files.map(file => {
      const lines = places.filter(place => place.file === file).map(({ line }) => line);
      return `line ${lines.join(', ')}${file === own ? '' : ` of ${file}`}`;
    });
    return texts.join('; ');
  }

  add(path: Path, message: string, options: Parameters<Reporter['add']>[2] = {}): void {
    this.#fileOf(path)?.add(path, message, options);
  }

  #fileOf([key = '', entry = '']: Path): ConfigFile | undefined {
    return this.#owners.get(keyOf(key, entry)) ?? this.#owners.get(keyOf(key)) ?? this.files[0];
  }

  #merge(): unknown {
    const merged: Record<string, unknown> = Object.create(null);
    for (const file of this.files)
      for (const [key, value] of Object.entries(asMap(file.value))) {
        if (SHARED_MAPS.includes(key)) {
          const entries = Object.entries(asMap(value)).filter(([entry]) => this.#claim(file, key, entry));
          merged[key] = Object.assign(Object.create(null), merged[key], Object.fromEntries(entries));
        } else if (this.#claim(file, key)) merged[key] = value;
      }
    return this.files.every(file => file.value !== undefined) ? merged : undefined;
  }

  /** Assigns a key to a file. Returns false, and adds an error to the file, if it is already in another one. */
  #claim(file: ConfigFile, key: string, entry = ''): boolean {
    const owner = this.#owners.get(keyOf(key, entry));
    if (owner === undefined) {
      this.#owners.set(keyOf(key, entry), file);
      return true;
    }
    const path = entry === '' ? [key] : [key, entry];
    const { line } = owner.place(path, 'key');
    file.addKey(path, `"${path.at(-1)}" is already in ${owner.name}, line ${line}`);
    return false;
  }
}

function keyOf(key: string | number, entry: string | number = ''): string {
  return `${key}\0${entry}`;
}

/** The place of a line, as messages name it. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** A key with its line, the number of its file, and the keys of its map. */
type WrittenKey = readonly [key: string, line: number, file: number, keys?: readonly WrittenKey[]];

/** The places of all keys in the limits files, kept after the files themselves are dropped. */
export class KeyPlaces {
  /** The names of the files, then the keys, as JSON: small, and easy to pass to another thread. */
  readonly text: string;
  /** Parsed on first use. */
  #places: ReadonlyMap<string, FilePlace> | null = null;

  /** @param text the text of another one; `[]` for no places */
  constructor(text: string) {
    this.text = text;
  }

  static in(files: LimitsFiles | null): KeyPlaces {
    if (files === null) return new KeyPlaces('[]');
    const names = files.files.map(({ name }) => name);
    return new KeyPlaces(JSON.stringify([names, keysIn(files, names, [], files.value)]));
  }

  /** Where a key is written; `null` if it is absent, so that its default applies. */
  of(path: readonly string[]): FilePlace | null {
    this.#places ??= readPlaces(this.text);
    return this.#places.get(path.join('\0')) ?? null;
  }
}

function keysIn(
  files: LimitsFiles,
  names: readonly string[],
  path: readonly string[],
  value: unknown,
): WrittenKey[] {
  return Object.entries(asMap(value)).map(([key, part]) => {
    const { file, line } = files.place([...path, key], 'key');
    const written = [key, line, names.indexOf(file)] as const;
    return isMap(part) ? [...written, keysIn(files, names, [...path, key], part)] : written;
  });
}

function readPlaces(text: string): ReadonlyMap<string, FilePlace> {
  const places = new Map<string, FilePlace>();
  const [names = [], keys = []] = JSON.parse(text) as [string[]?, WrittenKey[]?];
  const read = (written: readonly WrittenKey[], above: string) => {
    for (const [key, line, file, inner = []] of written) {
      places.set(above + key, { file: names[file] ?? '', line });
      read(inner, `${above}${key}\0`);
    }
  };
  read(keys, '');
  return places;
}
