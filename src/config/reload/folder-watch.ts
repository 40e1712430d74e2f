import type { FSWatcher } from 'node:fs';
import { basename, dirname, parse, resolve } from 'node:path';
import type { Files } from '../../core/index.ts';

/** Maximum symbolic links in one path; more count as a loop, as in Linux. */
const MAX_LINKS = 40;

interface Watched {
  readonly watcher: FSWatcher;
  /** Distinguishes a folder from one that replaced it. */
  readonly identity: string;
  /** The entries whose events matter, since others may change all the time; null: every entry. */
  names: ReadonlySet<string> | null;
}

/**
 * Reports that something may have happened to some paths. Watches their folders and those of every symbolic link on the way:
 * renaming a file over another, or replacing a link (as Kubernetes does with `..data`), is an event of the folder, not of the
 * file. Events may be missing or superfluous; they only cause a check.
 */
export class FolderWatch {
  readonly #files: Files;
  readonly #onEvent: () => void;
  readonly #onFailed: (cause: unknown) => void;
  #watched = new Map<string, Watched>();
  #closed = false;

  /** @param onFailed called if a folder cannot be watched, because of a system limit or a file system without events */
  constructor(files: Files, onEvent: () => void, onFailed: (cause: unknown) => void) {
    this.#files = files;
    this.#onEvent = onEvent;
    this.#onFailed = onFailed;
  }

  /** Watches these files, and all entries of these folders. Must be called again after each change. */
  async follow(files: readonly string[], folders: readonly string[]): Promise<void> {
    const wanted = new Map<string, Set<string> | null>();
    for (const path of [...files, ...folders]) {
      for (const entry of await entriesTo(resolve(path), this.#files)) {
        const names = wanted.get(dirname(entry));
        if (names === undefined) wanted.set(dirname(entry), new Set([basename(entry)]));
        else names?.add(basename(entry));
      }
    }
    for (const folder of folders) wanted.set(resolve(folder), null);
    const before = this.#watched;
    const after = new Map<string, Watched>();
    for (const [folder, names] of wanted) {
      const watched = await this.#keepOrWatch(before.get(folder), folder, names);
      if (watched !== null) after.set(folder, watched);
    }
    this.#watched = after;
    for (const [folder, { watcher }] of before) if (after.get(folder)?.watcher !== watcher) watcher.close();
    if (this.#closed) this.close();
  }

  close(): void {
    this.#closed = true;
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  async #keepOrWatch(
    before: Watched | undefined,
    folder: string,
    names: ReadonlySet<string> | null,
  ): Promise<Watched | null> {
    const identity = await identityOf(folder, this.#files);
    // The folder is missing: its creation is an event of the parent folder, or found by polling.
    if (identity === null) return null;
    if (before?.identity === identity) {
      before.names = names;
      return before;
    }
    try {
      return this.#watch(folder, identity, names);
    } catch (cause) {
      // The folder was removed in the meantime: treat it as missing.
      if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) this.#onFailed(cause);
      return null;
    }
  }

  #watch(folder: string, identity: string, names: ReadonlySet<string> | null): Watched {
    const watcher = this.#files.watch(folder);
    const watched: Watched = { watcher, identity, names };
    watcher.on('change', (_type, name) => {
      // Its own name means that the folder itself was removed or moved; the next `follow` watches what is there then.
      if (name === basename(folder)) this.#drop(folder, watched);
      const matters = typeof name !== 'string' || name === basename(folder) || watched.names?.has(name);
      if (watched.names === null || matters) this.#onEvent();
    });
    watcher.on('error', cause => {
      this.#drop(folder, watched);
      this.#onFailed(cause);
    });
    return watched;
  }

  #drop(folder: string, watched: Watched): void {
    watched.watcher.close();
    if (this.#watched.get(folder) === watched) this.#watched.delete(folder);
  }
}

async function identityOf(folder: string, files: Files): Promise<string | null> {
  try {
    // Inode numbers are reused, sometimes immediately; the birth time distinguishes folders.
    const { dev, ino, birthtimeMs } = await files.stat(folder);
    return `${dev}:${ino}:${birthtimeMs}`;
  } catch {
    return null;
  }
}

/** Returns the folder entries on the way to a file: each symbolic link, and the file itself. */
async function entriesTo(path: string, files: Files): Promise<string[]> {
  const entries: string[] = [];
  let links = 0;
  let done = parse(path).root;
  let ahead = path.slice(done.length).split('/').filter(Boolean);
  while (ahead.length > 0) {
    const [step = '', ...rest] = ahead;
    const entry = resolve(done, step);
    const target = await linkTarget(entry, files);
    if (target !== null || rest.length === 0) entries.push(entry);
    if (target === null) {
      done = entry;
      ahead = rest;
    } else {
      if (++links > MAX_LINKS) return entries;
      const absolute = resolve(done, target);
      done = parse(absolute).root;
      ahead = [...absolute.slice(done.length).split('/').filter(Boolean), ...rest];
    }
  }
  return entries;
}

async function linkTarget(entry: string, files: Files): Promise<string | null> {
  try {
    return (await files.lstat(entry)).isSymbolicLink() ? await files.readlink(entry) : null;
  } catch {
    return null;
  }
}
