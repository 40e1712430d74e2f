import { chmod, chown, mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface FileContent {
  readonly content: Buffer;
  readonly mode: number;
}

/**
 * A folder whose files change all at once, laid out as kubelet does for ConfigMaps and Secrets: each version is a folder of its
 * own, `..data` links to the current one, and every visible name is a link through `..data`.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/volume/util/atomic_writer.go
 */
export class AtomicFolder {
  readonly path: string;
  readonly #group: number;
  #version = 0;

  /** Files belong to root and `group`, as kubelet does for a pod with `fsGroup`. */
  constructor(path: string, group: number) {
    this.path = path;
    this.#group = group;
  }

  async write(files: ReadonlyMap<string, FileContent>): Promise<void> {
    await mkdir(this.path, { recursive: true });
    const before = await readlink(join(this.path, '..data')).catch(() => '');
    const version = `..${new Date().toISOString().replace(/\D/g, '_')}${this.#version++}`;
    await mkdir(join(this.path, version), { mode: 0o755 });
    for (const [name, file] of files) await this.#writeFile(join(this.path, version, name), file);
    await symlink(version, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, '..data'));
    for (const name of new Set([...files.keys()].map(name => name.split('/')[0] ?? name)))
      await symlink(join('..data', name), join(this.path, name)).catch(ignoreExisting);
    if (before !== '') await rm(join(this.path, before), { recursive: true });
  }

  async #writeFile(path: string, { content, mode }: FileContent): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await chown(path, 0, this.#group);
    await chmod(path, this.#group === 0 ? mode : mode | 0o440);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
