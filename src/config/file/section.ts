import type { About, ConfigFile } from './config-file.ts';
import { asMap, type Path, type RawMap } from './diagnostic.ts';

/** A map in a file, with its place: what checks read, and where they report. Its values may be invalid. */
export class Section {
  readonly file: ConfigFile;
  readonly path: Path;
  /** The map as written; empty if there is none. */
  readonly raw: RawMap;

  /** @param written what stands there */
  constructor(file: ConfigFile, path: Path, written: unknown) {
    this.file = file;
    this.path = path;
    this.raw = asMap(written);
  }

  /** Reports about the value of a key, or of one in its map; about the map itself without any. */
  add(keys: string | Path, message: string, options?: Parameters<ConfigFile['add']>[2]): void {
    this.file.add(this.at(keys), message, options);
  }

  /** Reports a key that should not be there, or not be so named. */
  addKey(keys: string | Path, message: string): void {
    this.add(keys, message, { about: 'key' });
  }

  /** Reports a key that changes nothing. `why` ends the sentence: `without "sign_out"`. */
  addUseless(keys: string | Path, why: string): void {
    this.file.addUseless(this.at(keys), why);
  }

  warn(keys: string | Path, message: string): void {
    this.add(keys, message, { severity: 'warning' });
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
