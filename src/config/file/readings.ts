import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { errorText, type Files, thisMachine } from '../../core/index.ts';
import type { Diagnostic, Path } from './diagnostic.ts';

/** What was read: a public file, one with a secret or key, or the list of files in a folder. */
type Kind = 'text' | 'secret' | 'folder';

/** Readings in a form that can be passed to another thread. */
export interface ReadingsData {
  readonly readings: ReadonlyMap<string, Reading>;
  readonly repeatable: boolean;
}

interface Reading {
  readonly kind: Kind;
  /** The digest of the content, or of the reason why it could not be read. */
  readonly digest: string;
}

/** Hex digits that texts and secrets contribute to the public hash. */
const TEXT_DIGITS = 14;
const SECRET_DIGITS = 2;

/**
 * Digests of everything that one load of the configuration read: loads with equal readings give the same result. Includes files
 * that could not be read, so that a file that appears later is noticed as a change.
 */
export class Readings {
  /** The file system that they were read from. */
  readonly files: Files;
  readonly #readings = new Map<string, Reading>();
  #repeatable = true;

  constructor(files: Files = thisMachine.files) {
    this.files = files;
  }

  static from({ readings, repeatable }: ReadingsData, files?: Files): Readings {
    const made = new Readings(files);
    for (const [path, reading] of readings) made.#readings.set(path, reading);
    made.#repeatable = repeatable;
    return made;
  }

  get data(): ReadingsData {
    return { readings: this.#readings, repeatable: this.#repeatable };
  }

  /** Records the result of reading a file. If a load reads a file twice, the first result counts. */
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
    const files = withoutPipes(this.files);
    for (const [path, { kind }] of this.#readings) {
      if (kind === 'folder') now.noteFolder(path, await listYamlFiles(path, this.files));
      else now.note(path, kind, await readConfigFile(path, files));
    }
    return now;
  }

  equals(other: Readings): boolean {
    const theirs = other.#readings;
    return (
      this.#readings.size === theirs.size &&
      [...this.#readings].every(([path, { kind }]) => theirs.get(path)?.kind === kind) &&
      this.agreesWith(other)
    );
  }

  /**
   * Whether everything that both have read is equal. If one read a path as a file and the other as a folder, it does not count as
   * read by both.
   */
  agreesWith(other: Readings): boolean {
    for (const [path, { kind, digest }] of this.#readings) {
      const theirs = other.#readings.get(path);
      if (theirs !== undefined && theirs.kind === kind && theirs.digest !== digest) return false;
    }
    return true;
  }

  /**
   * 16 hex digits to compare replicas by: equal content, equal hash. Secrets affect only two of the digits: a new secret usually
   * changes the hash, which yet reveals no more than 8 bits about all secrets together.
   */
  get hash(): string {
    return this.#hashOf('text').slice(0, TEXT_DIGITS) + this.#hashOf('secret').slice(0, SECRET_DIGITS);
  }

  #hashOf(wanted: Kind): string {
    // Hash digests, so that moving bytes from one file to the next changes the hash. Omit paths, which may differ between replicas.
    const hash = createHash('sha256');
    for (const { kind, digest } of this.#readings.values()) if (kind === wanted) hash.update(digest);
    return hash.digest('hex');
  }

  #set(path: string, kind: Kind, content: Buffer | string): void {
    if (this.#readings.has(path)) return;
    this.#readings.set(path, { kind, digest: createHash('sha256').update(content).digest('hex') });
  }
}

/** Knows what messages about a file must not repeat. */
export interface Secrecy {
  /** The names of keys whose values are secrets. */
  readonly keys: readonly string[];
  /** Whether the value at a path is or may contain a secret. */
  hides(path: Path): boolean;
}

/**
 * Returns the `*.yaml` files of a folder, sorted by name; `null` if there is no such folder. Skips hidden entries: leftovers of
 * editors, and Kubernetes' `..data`, which contains every file of a mounted ConfigMap again.
 */
export async function listYamlFiles(folder: string, files: Files): Promise<string[] | null> {
  try {
    const names = await files.readdir(folder);
    return names.filter(name => name.endsWith('.yaml') && !name.startsWith('.')).sort();
  } catch {
    // Reading the path as a file will report the problem.
    return null;
  }
}

/** The code of the error that `withoutPipes` throws. */
const IS_PIPE = 'WEIR_PIPE';

/**
 * The same files without pipes and devices, for a gateway that serves: opening a pipe that nobody writes to takes forever, and
 * neither a reload nor the process could end.
 */
export function withoutPipes(files: Files): Files {
  return {
    ...files,
    async open(path) {
      const found = await files.stat(path);
      if (found.isFile() || found.isDirectory()) return files.open(path);
      throw Object.assign(new Error('this is a pipe or a device'), { code: IS_PIPE });
    },
  };
}

/** Larger than any hand-written configuration: a wrong path (a log, a device) must not fill the memory. */
const MAX_FILE_BYTES = 1024 * 1024;
const PIECE_BYTES = 16 * 1024;

type ReadResult =
  | {
      readonly ok: true;
      readonly bytes: Buffer;
      readonly text: string;
      /** Whether it can be read again: a pipe such as /dev/stdin cannot. */
      readonly regular: boolean;
    }
  | {
      readonly ok: false;
      readonly diagnostic: Diagnostic;
      /** The message without the file's name, which may come from a variable. */
      readonly reason: string;
    };

/** Reads a configuration file as UTF-8. Returns a diagnostic if that fails; never throws. */
export async function readConfigFile(file: string, files: Files): Promise<ReadResult> {
  let bytes: Buffer;
  let regular: boolean;
  try {
    ({ bytes, regular } = await readAtMost(file, MAX_FILE_BYTES + 1, files));
  } catch (error) {
    return unreadable(file, error);
  }
  if (bytes.length > MAX_FILE_BYTES) {
    return failed(file, 'the file is larger than 1 MiB: is this the right file?');
  }
  const badLine = firstLineThatIsNotUtf8(bytes);
  if (badLine !== null) return failed(file, whyNotUtf8(bytes), badLine);
  return { ok: true, bytes, text: new TextDecoder().decode(bytes), regular };
}

/** Reads up to the end or the cap: the size of a pipe such as /dev/stdin is unknown beforehand. */
async function readAtMost(
  file: string,
  cap: number,
  files: Files,
): Promise<{ bytes: Buffer; regular: boolean }> {
  const handle = await files.open(file);
  try {
    const regular = (await handle.stat()).isFile();
    const pieces: Buffer[] = [];
    let length = 0;
    while (length < cap) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, cap - length));
      const { bytesRead } = await handle.read(piece, 0, piece.length, null);
      if (bytesRead === 0) break;
      pieces.push(piece.subarray(0, bytesRead));
      length += bytesRead;
    }
    return { bytes: Buffer.concat(pieces), regular };
  } finally {
    await handle.close();
  }
}

function unreadable(file: string, error: unknown): ReadResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return failed(file, `no such file (${resolve(file)})`, null, 'no such file');
    case 'EISDIR':
      return failed(file, 'this is a directory, expected a file');
    case IS_PIPE:
      return failed(file, 'this is a pipe or a device: a reload reads files only');
    case 'EACCES':
    case 'EPERM':
      return failed(file, 'the file cannot be read: permission denied');
    default: {
      const said = errorText(error);
      return failed(file, `the file cannot be read: ${said}`, null, `the file cannot be read (${code})`);
    }
  }
}

function whyNotUtf8(bytes: Buffer): string {
  const isUtf16 = [0xfeff, 0xfffe].includes(bytes.length > 1 ? bytes.readUInt16BE() : 0);
  if (isUtf16) return 'the file is UTF-16: save it as UTF-8';
  if (bytes.includes(0)) return 'this is a binary file, expected text: is this the right file?';
  return 'this line is not valid UTF-8: save the file as UTF-8';
}

function firstLineThatIsNotUtf8(bytes: Buffer): number | null {
  if (isUtf8(bytes)) return null;
  // In UTF-8, a multi-byte sequence never contains a line feed, so each line can be checked separately.
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
  return line;
}

function failed(
  file: string,
  message: string,
  line: number | null = null,
  reason: string = message,
): ReadResult {
  return {
    ok: false,
    diagnostic: { file, line, column: line && 1, message, severity: 'error' },
    reason,
  };
}

let users = 0;

/**
 * Runs `run`, which creates much garbage, and makes V8 collect it early instead of growing the heap, since V8 returns heap memory
 * late or never. Reading 10,000 routes took 180 MiB, of which 5 MiB were needed afterwards; with this it takes 31 MiB, and 3.3 s of
 * processor time instead of 2.2.
 *
 * The flag only tunes when to collect, and V8 reads it at each such decision (`Heap::ShouldOptimizeForMemoryUsage`). A
 * configuration of normal size is read before the first collection either way.
 */
export async function withLeanHeap<T>(run: () => Promise<T>): Promise<T> {
  if (users++ === 0) setFlagsFromString('--optimize-for-size');
  try {
    return await run();
  } finally {
    if (--users === 0) setFlagsFromString('--no-optimize-for-size');
  }
}

/**
 * Does the opposite for a command that reads and then ends. V8 collects old objects late, and does not optimise code, which would
 * cost more than it saves in a few seconds. `weir check` of 5,000 routes takes 2.1 s of processor time instead of 2.5 (12,000: 4.1
 * instead of 5.3), and 320 MiB instead of 250.
 */
export async function withFastHeap<T>(run: () => Promise<T>): Promise<T> {
  setFlagsFromString('--no-opt');
  setFlagsFromString('--heap-growing-percent=1000');
  try {
    return await run();
  } finally {
    setFlagsFromString('--opt');
    // The value that src/main.ts sets. V8 reuses cached code only with the same flags.
    setFlagsFromString('--heap-growing-percent=100');
  }
}
