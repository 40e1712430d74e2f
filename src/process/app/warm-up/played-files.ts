import type { Files } from '../../../core/index.ts';

/** Files of these names and texts, and no others. Nothing of them can be watched. */
export function playedFiles(texts: Readonly<Record<string, string>>): Files {
  const files = new Map(Object.entries(texts));
  const absent = async (path: string) => {
    throw Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
  };
  return {
    open: async path => new PlayedFile(files.get(path) ?? (await absent(path))),
    readdir: absent,
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

class PlayedFile {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(text: string) {
    this.#bytes = Buffer.from(text);
  }

  stat = async () => REGULAR;
  close = async () => {};

  async read(into: Buffer, offset: number, length: number): Promise<{ bytesRead: number }> {
    const bytesRead = this.#bytes.copy(into, offset, this.#at, this.#at + length);
    this.#at += bytesRead;
    return { bytesRead };
  }
}
