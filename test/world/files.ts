import { EventEmitter } from 'node:events';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { WritableFiles } from '../../src/core/index.ts';
import type { Draws } from './kernel/draws.ts';
import type { Kernel } from './kernel/kernel.ts';
import type { Owner } from './kernel/timeline.ts';
import { fault } from './network/socket.ts';

interface Entry {
  readonly ino: number;
  bytes: Buffer;
  /** How much of it a loss of power leaves. */
  safeLength: number;
}

interface Watching {
  readonly folder: string;
  readonly owner: Owner;
  readonly watcher: EventEmitter;
}

/** The disk of one machine. It outlives its processes. */
export class Disk {
  readonly #kernel: Kernel;
  readonly #draws: Draws;
  readonly #entries = new Map<string, Entry>();
  readonly #watching = new Set<Watching>();
  /** What the system makes up when somebody reads it. */
  readonly #devices = new Map<string, () => string>();
  /** What had the names of renamed files before, where a loss of power may bring that back. */
  readonly #unsynced = new Map<string, Entry | undefined>();
  #lastInode = 100;

  constructor(kernel: Kernel, draws: Draws) {
    this.#kernel = kernel;
    this.#draws = draws;
  }

  /** Somebody else replaces a file, as an operator does. */
  put(path: string, text: string): void {
    const bytes = Buffer.from(text);
    this.#entries.set(path, { ino: ++this.#lastInode, bytes, safeLength: bytes.length });
    this.#changed(path);
  }

  /** Has the system tell something under this path: it is made anew for each who opens it. */
  tell(path: string, text: () => string): void {
    this.#devices.set(path, text);
  }

  inodeOf(path: string): number | undefined {
    return this.#entries.get(path)?.ino;
  }

  /** What was not synced may be gone. */
  losePower(): void {
    for (const [path, before] of this.#unsynced) {
      if (before !== undefined && this.#draws.percent(50)) this.#entries.set(path, before);
    }
    this.#unsynced.clear();
    for (const entry of this.#entries.values()) {
      if (entry.safeLength < entry.bytes.length && this.#draws.percent(50))
        entry.bytes = entry.bytes.subarray(0, this.#draws.whole(entry.safeLength, entry.bytes.length));
    }
  }

  /** The disk as this process sees it: what it asks of a disk takes a moment, and nothing is told to the dead. */
  filesOf(owner: Owner): WritableFiles {
    const slow = <Given extends unknown[], Result>(work: (...given: Given) => Result) => {
      return (...given: Given): Promise<Result> =>
        new Promise((resolve, reject) => {
          this.#kernel.after(0.02 + this.#draws.random() * 0.2, owner, () => {
            try {
              resolve(work(...given));
            } catch (error) {
              reject(error);
            }
          });
        });
    };
    const stat = slow((path: string) => this.#stat(path));
    return {
      ...{ stat, lstat: stat },
      open: slow((path: string) => {
        const { ino, bytes } = this.#entry(path);
        let rest = bytes;
        return {
          stat: slow(() => ({ ...this.#kindOf(true), dev: 1, ino, birthtimeMs: ino })),
          read: slow((into: Buffer, offset: number, length: number, _position: null) => {
            const bytesRead = rest.copy(into, offset, 0, length);
            rest = rest.subarray(bytesRead);
            return { bytesRead };
          }),
          close: slow(() => {}),
        };
      }),
      readdir: slow((folder: string) => {
        if (this.#stat(folder).isFile()) throw fault('ENOTDIR', 'scandir');
        return [...this.#entries.keys()].filter(path => dirname(path) === folder).map(path => basename(path));
      }),
      readlink: slow((path: string): string => {
        this.#stat(path);
        throw fault('EINVAL', 'readlink');
      }),
      watch: folder => this.#watch(folder, owner),
      create: slow((path: string) => {
        const entry = { ino: ++this.#lastInode, bytes: Buffer.alloc(0), safeLength: 0 };
        this.#entries.set(path, entry);
        this.#changed(path);
        return {
          write: slow((piece: string | Uint8Array) => {
            entry.bytes = Buffer.concat([entry.bytes, Buffer.from(piece)]);
          }),
          sync: slow(() => {
            entry.safeLength = entry.bytes.length;
          }),
          close: slow(() => {}),
        };
      }),
      rename: slow((from: string, to: string) => {
        const entry = this.#entry(from);
        const before = this.#entries.get(to);
        this.#entries.delete(from);
        this.#entries.set(to, entry);
        this.#unsynced.set(to, before);
        this.#changed(to);
      }),
      syncFolder: slow((folder: string) => {
        for (const path of this.#unsynced.keys()) if (dirname(path) === folder) this.#unsynced.delete(path);
      }),
      remove: slow((path: string) => {
        this.#entries.delete(path);
        this.#changed(path);
      }),
    };
  }

  #entry(path: string): Entry {
    const told = this.#devices.get(path);
    const bytes = Buffer.from(told?.() ?? '');
    const entry = told === undefined ? this.#entries.get(path) : { ino: 1, bytes, safeLength: bytes.length };
    if (entry === undefined) throw fault('ENOENT', 'open');
    return entry;
  }

  #stat(path: string) {
    const entry = this.#entries.get(path);
    if (entry === undefined && ![...this.#entries.keys()].some(each => each.startsWith(`${path}/`)))
      throw fault('ENOENT', 'stat');
    const ino = entry?.ino ?? 1;
    return { ...this.#kindOf(entry !== undefined), dev: 1, ino, birthtimeMs: ino };
  }

  #kindOf(isFile: boolean) {
    return { isFile: () => isFile, isDirectory: () => !isFile, isSymbolicLink: () => false };
  }

  #watch(folder: string, owner: Owner): FSWatcher {
    const watching = { folder, owner, watcher: new EventEmitter() };
    this.#watching.add(watching);
    return Object.assign(watching.watcher, {
      close: () => void this.#watching.delete(watching),
      ref: () => {},
      unref: () => {},
    }) as unknown as FSWatcher;
  }

  #changed(path: string): void {
    for (const watching of this.#watching) {
      if (watching.folder !== dirname(path)) continue;
      this.#kernel.after(this.#draws.random(), watching.owner, () => {
        if (this.#watching.has(watching)) watching.watcher.emit('change', 'rename', basename(path));
      });
    }
  }
}
