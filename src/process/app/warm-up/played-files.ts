import type { Files } from '../../../core/index.ts';

/** Files of these names and texts, and no others. Nothing of them can be watched. */
export function playedFiles(texts: Readonly<Record<string, string>>): Files {
  const files = new Map(Object.entries(texts));
  const absent = async (path: string) => {
    throw Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
  };
  return {
    open: async path => playedFile(files.get(path) ?? (await absent(path))),
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
  dev: 0,
  ino: 0,
  birthtimeMs: 0,
  isFile: () => true,
  isDirectory: () => false,
  isSymbolicLink: () => false,
};

function playedFile(text: string) {
  const bytes = Buffer.from(text);
  let at = 0;
  return {
    stat: async () => REGULAR,
    close: async () => {},
    async read(into: Buffer, offset: number, length: number) {
      const bytesRead = bytes.copy(into, offset, at, at + length);
      at += bytesRead;
      return { bytesRead };
    },
  };
}
