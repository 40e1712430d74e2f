import { createHash } from 'node:crypto';
import { type Files, thisMachine } from '../../core/index.ts';
import type { Path } from './diagnostic.ts';
import { listYamlFiles } from './limits-folder.ts';
import { type ReadResult, readConfigFile } from './read-file.ts';

/** What was read: a file anyone may see, one with a secret or key, or the list of files in a folder. */
type Kind = 'text' | 'secret' | 'folder';

interface Reading {
  readonly kind: Kind;
  /** The digest of the content, or of the reason why it could not be read. */
  readonly digest: string;
}

/** Hex digits that texts and secrets contribute to the public hash. */
const TEXT_DIGITS = 14;
const SECRET_DIGITS = 2;

/**
 * Digests of everything that one load of the configuration read: loads with equal readings mean the same. Files that could
 * not be read are included, so that a file that appears later is noticed as a change.
 */
export class Readings {
  /** Where they were read. */
  readonly files: Files;
  readonly #readings = new Map<string, Reading>();
  #repeatable = true;

  constructor(files: Files = thisMachine.files) {
    this.files = files;
  }

  /** Notes the result of reading a file. If a load reads a file twice, the first result counts. */
  note(path: string, kind: 'text' | 'secret', read: ReadResult): void {
    if (read.ok && !read.regular) this.#repeatable = false;
    this.#set(path, kind, read.ok ? read.bytes : `unreadable: ${read.reason}`);
  }

  noteFolder(path: string, names: readonly string[] | null): void {
    this.#set(path, 'folder', names === null ? 'no folder' : names.join('\0'));
  }

  /** The files and folders that were read. Any entry of a folder counts. */
  get followed(): { readonly files: string[]; readonly folders: string[] } {
    const paths = [...this.#readings];
    return {
      files: paths.filter(([, { kind }]) => kind !== 'folder').map(([path]) => path),
      folders: paths.filter(([, { kind }]) => kind === 'folder').map(([path]) => path),
    };
  }

  /** Whether all files can be read again: a pipe such as /dev/stdin cannot. */
  get repeatable(): boolean {
    return this.#repeatable;
  }

  /** Reads the same files again. Never throws. */
  async again(): Promise<Readings> {
    const now = new Readings(this.files);
    for (const [path, { kind }] of this.#readings) {
      if (kind === 'folder') now.noteFolder(path, await listYamlFiles(path, this.files));
      else now.note(path, kind, await readConfigFile(path, this.files));
    }
    return now;
  }

  equals(other: Readings): boolean {
    const theirs = other.#readings;
    return (
      this.#readings.size === theirs.size &&
      [...this.#readings.keys()].every(path => theirs.has(path)) &&
      this.agreesWith(other)
    );
  }

  /** Whether everything that both have read is equal. */
  agreesWith(other: Readings): boolean {
    for (const [path, { digest }] of this.#readings) {
      const theirs = other.#readings.get(path);
      if (theirs !== undefined && theirs.digest !== digest) return false;
    }
    return true;
  }

  /**
   * 16 hex digits by which people compare replicas: equal content, equal hash. Secrets affect only two of them: a new secret
   * usually shows, yet the hash reveals no more than 8 bits about all secrets together.
   */
  get hash(): string {
    return this.#hashOf('text').slice(0, TEXT_DIGITS) + this.#hashOf('secret').slice(0, SECRET_DIGITS);
  }

  #hashOf(wanted: Kind): string {
    // Hashes digests, so that bytes cannot move from one file to the next unnoticed. Leaves out paths, which may differ between
    // replicas.
    const hash = createHash('sha256');
    for (const { kind, digest } of this.#readings.values()) if (kind === wanted) hash.update(digest);
    return hash.digest('hex');
  }

  #set(path: string, kind: Kind, content: Buffer | string): void {
    if (this.#readings.has(path)) return;
    this.#readings.set(path, { kind, digest: createHash('sha256').update(content).digest('hex') });
  }
}

/** Says what messages about a file must not repeat. */
export interface Secrecy {
  /** The names of keys whose values are secrets. */
  readonly keys: readonly string[];
  /** Whether the value at a path is or may contain a secret. */
  hides(path: Path): boolean;
}
