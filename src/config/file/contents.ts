import type { Files } from '../../core/index.ts';

/** A configuration as bytes, in a form that can be passed to another thread. Contains its secrets. */
export interface ConfigBytes {
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The names in each listed folder. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
}

/** Keeps what a load reads, so that another thread can load the same without reading files that may have changed. */
export class ConfigContents implements ConfigBytes {
  readonly files = new Map<string, Uint8Array>();
  readonly folders = new Map<string, readonly string[]>();

  /** If a load reads a file twice, the first result counts. */
  keepFile(path: string, bytes: Uint8Array): void {
    // A separate copy: small buffers are slices of a larger one, which would be passed on as a whole.
    if (!this.files.has(path)) this.files.set(path, new Uint8Array(bytes));
  }

  keepFolder(path: string, names: readonly string[]): void {
    if (!this.folders.has(path)) this.folders.set(path, names);
  }
}

/** The files of a configuration that was already read. Files that the load did not find do not exist; nothing can be watched. */
export function filesIn({ files, folders }: ConfigBytes): Files {
  const absent = async (path: string) => {
    throw Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
  };
  return {
    open: async path => {
      const bytes = files.get(path) ?? (await absent(path));
      return new ReadBytes(bytes);
    },
    readdir: async folder => [...(folders.get(folder) ?? (await absent(folder)))],
    stat: async path => (files.has(path) ? REGULAR : absent(path)),
    lstat: absent,
    readlink: absent,
    watch: folder => {
      throw new Error(`cannot watch ${folder}`);
    },
  };
}

const REGULAR = {
  ...{ dev: 0, ino: 0, birthtimeMs: 0 },
  isFile: () => true,
  isDirectory: () => false,
  isSymbolicLink: () => false,
};

class ReadBytes {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  stat = async () => REGULAR;
  close = async () => {};

  async read(into: Buffer, offset: number, length: number): Promise<{ bytesRead: number }> {
    const piece = this.#bytes.subarray(this.#at, this.#at + length);
    into.set(piece, offset);
    this.#at += piece.length;
    return { bytesRead: piece.length };
  }
}
