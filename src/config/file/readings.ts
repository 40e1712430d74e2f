import { createHash } from 'node:crypto';

import { listYamlFiles } from './limits-folder.ts';
import { type ReadResult, readConfigFile } from './read-file.ts';

/** What is read: a file whose text anyone may see, one that holds a secret or key, or the list of files in a folder. */
type Kind = 'text' | 'secret' | 'folder';

interface Reading {
  readonly kind: Kind;
  /** Of the content, or of the reason why there is none. */
  readonly digest: string;
}

/** Hex digits of the public hash that come from texts and from secrets. */
const TEXT_DIGITS = 14;
const SECRET_DIGITS = 2;

/**
 * What one load of the configuration read, as digests: two loads with equal readings mean the same. What could not be read is
 * among it, so that its coming is a change like any other.
 */
export class Readings {
  readonly #readings = new Map<string, Reading>();
  #repeatable = true;

  /** Notes what became of reading a file. A file that is read twice in one load counts as it was at first. */
  note(path: string, kind: 'text' | 'secret', read: ReadResult): void {
    if (read.ok && !read.regular) this.#repeatable = false;
    this.#set(path, kind, read.ok ? read.bytes : `unreadable: ${read.reason}`);
  }

  noteFolder(path: string, names: readonly string[] | null): void {
    this.#set(path, 'folder', names === null ? 'no folder' : names.join('\0'));
  }

  /** Where it came from: a folder counts with all its entries. */
  get followed(): { readonly files: string[]; readonly folders: string[] } {
    const paths = [...this.#readings];
    return {
      files: paths.filter(([, { kind }]) => kind !== 'folder').map(([path]) => path),
      folders: paths.filter(([, { kind }]) => kind === 'folder').map(([path]) => path),
    };
  }

  /** False where a pipe was among it, such as /dev/stdin: it gives its bytes once. */
  get repeatable(): boolean {
    return this.#repeatable;
  }

  /** Reads the same files again, as they are now. Never throws. */
  async again(): Promise<Readings> {
    const now = new Readings();
    for (const [path, { kind }] of this.#readings) {
      if (kind === 'folder') now.noteFolder(path, await listYamlFiles(path));
      else now.note(path, kind, await readConfigFile(path));
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

  /** Whether nothing that both have read was another. */
  agreesWith(other: Readings): boolean {
    for (const [path, { digest }] of this.#readings) {
      const theirs = other.#readings.get(path);
      if (theirs !== undefined && theirs.digest !== digest) return false;
    }
    return true;
  }

  /**
   * A name for what was read, for people to compare replicas by: the same content, the same 16 hex digits. Secrets are in only two
   * of them: a new secret mostly shows, yet a guess reveals only 8 bits of all secrets together.
   */
  get hash(): string {
    return this.#hashOf('text').slice(0, TEXT_DIGITS) + this.#hashOf('secret').slice(0, SECRET_DIGITS);
  }

  #hashOf(wanted: Kind): string {
    // Each by its own digest, so that no byte can move from one file to the other unnoticed. Without the paths, which may
    // differ between replicas.
    const hash = createHash('sha256');
    for (const { kind, digest } of this.#readings.values()) if (kind === wanted) hash.update(digest);
    return hash.digest('hex');
  }

  #set(path: string, kind: Kind, content: Buffer | string): void {
    if (this.#readings.has(path)) return;
    this.#readings.set(path, { kind, digest: createHash('sha256').update(content).digest('hex') });
  }
}
