import type { ConfigFile } from './config-file.ts';
import { asMap, type Path, type RawMap } from './diagnostic.ts';
import { type About, Reporter } from './reporter.ts';

/** A source of sections: a file, or the files of limits. */
interface Sectioned extends Pick<ConfigFile, 'add' | 'has'> {
  place(path: Path, about?: About): { readonly line: number };
}

/** A map in a file with its place. Checks read it, and report to it. Its values may be invalid. */
export class Section<File extends Sectioned = ConfigFile> extends Reporter<string | Path> {
  readonly file: File;
  readonly path: Path;
  /** The map as written; empty if there is none. */
  readonly raw: RawMap;

  /** @param written the value as written */
  constructor(file: File, path: Path, written: unknown) {
    super();
    this.file = file;
    this.path = path;
    this.raw = asMap(written);
  }

  /** Reports about the value of a key, or about one in the key's map; without keys, about the map itself. */
  add(keys: string | Path, message: string, options?: Parameters<Reporter['add']>[2]): void {
    this.file.add(this.at(keys), message, options);
  }

  has(keys: string | Path): boolean {
    return this.file.has(this.at(keys));
  }

  /** The line of a key's value, or of the key itself. */
  lineOf(keys: string | Path, about?: About): number {
    return this.file.place(this.at(keys), about).line;
  }

  at(keys: string | Path): Path {
    return [...this.path, ...(typeof keys === 'string' ? [keys] : keys)];
  }
}
