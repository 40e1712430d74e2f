import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AtomicFolder, type FileContent } from './atomic-folder.ts';
import type { FilesManifest, FilesSource, PodSpec, VolumeSpec } from './manifests.ts';

const DEFAULT_MODE = 0o644;

/** Looks up a ConfigMap or a Secret of the pod's namespace. */
export type FindFiles = (kind: 'ConfigMap' | 'Secret', name: string) => FilesManifest | undefined;

/** The volumes of one pod as folders of this machine. */
export class Volumes {
  readonly #folders = new Map<string, string>();
  readonly #followed: { readonly folder: AtomicFolder; readonly spec: VolumeSpec; seen: string }[] = [];
  readonly #find: FindFiles;

  private constructor(find: FindFiles) {
    this.#find = find;
  }

  /** Throws, as kubelet waits, when an object is missing that is not optional. */
  static async create(spec: PodSpec, root: string, find: FindFiles): Promise<Volumes> {
    const volumes = new Volumes(find);
    const group = spec.securityContext?.fsGroup ?? 0;
    for (const volume of spec.volumes ?? []) await volumes.#add(volume, join(root, volume.name), group);
    return volumes;
  }

  folderOf(name: string): string {
    const folder = this.#folders.get(name);
    if (folder === undefined) throw new Error(`the pod has no volume ${name}`);
    return folder;
  }

  /** Writes what changed in ConfigMaps and Secrets since, as kubelet does at its next sync. */
  async refresh(): Promise<void> {
    for (const followed of this.#followed) {
      const files = filesOf(followed.spec, this.#find);
      const digest = JSON.stringify([...files]);
      if (digest === followed.seen) continue;
      await followed.folder.write(files);
      followed.seen = digest;
    }
  }

  async #add(spec: VolumeSpec, path: string, group: number): Promise<void> {
    this.#folders.set(spec.name, path);
    await mkdir(path, { recursive: true });
    if (spec.emptyDir !== undefined) {
      // World-writable, as kubelet makes them; with fsGroup new files belong to that group.
      await chown(path, 0, group);
      await chmod(path, group === 0 ? 0o777 : 0o2777);
      return;
    }
    this.#followed.push({ folder: new AtomicFolder(path, group), spec, seen: '' });
    await this.refresh();
  }
}

function filesOf(spec: VolumeSpec, find: FindFiles): Map<string, FileContent> {
  const files = new Map<string, FileContent>();
  const mode = spec.projected?.defaultMode ?? DEFAULT_MODE;
  const sources = spec.projected?.sources ?? [spec];
  for (const source of sources) {
    if (source.configMap !== undefined) addFiles(files, source.configMap, 'ConfigMap', mode, find);
    else if (source.secret !== undefined) addFiles(files, source.secret, 'Secret', mode, find);
    else throw new Error(`the pod runner has no volume of this kind: ${JSON.stringify(spec)}`);
  }
  return files;
}

function addFiles(
  files: Map<string, FileContent>,
  source: FilesSource,
  kind: 'ConfigMap' | 'Secret',
  outerMode: number,
  find: FindFiles,
): void {
  const name = source.name ?? source.secretName ?? '';
  const object = find(kind, name);
  if (object === undefined) {
    if (source.optional === true) return;
    throw new Error(`${kind} ${name} not found`);
  }
  const contents = contentsOf(object);
  const mode = source.defaultMode ?? outerMode;
  const items = source.items ?? [...contents.keys()].map(key => ({ key, path: key, mode: undefined }));
  for (const item of items) {
    const content = contents.get(item.key);
    if (content === undefined) throw new Error(`${kind} ${name} has no key ${item.key}`);
    files.set(item.path, { content, mode: item.mode ?? mode });
  }
}

export function contentsOf(object: FilesManifest): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  const encoding = object.kind === 'Secret' ? 'base64' : 'utf8';
  for (const [key, text] of Object.entries(object.data ?? {})) contents.set(key, Buffer.from(text, encoding));
  for (const [key, text] of Object.entries(object.stringData ?? {})) contents.set(key, Buffer.from(text));
  for (const [key, text] of Object.entries(object.binaryData ?? {}))
    contents.set(key, Buffer.from(text, 'base64'));
  return contents;
}
