import { join } from 'node:path';
import { randomKey, type System, type Timer } from '../../core/index.ts';
import type { LocalStore } from '../../limits/index.ts';
import type { Logger } from '../../observe/index.ts';
import { causeOf, LateWriter, type WriteHealth } from './late-writer.ts';
import { WholeFile } from './whole-file.ts';

/** How often to check whether counters have changed. */
const LOOK_MS = 250;

interface Saved {
  readonly hashRoot: Buffer;
  /** The identities of limits, to which rows refer by index. */
  readonly limits: readonly string[];
  readonly rows: Buffer;
}

/** Keeps the counters of long windows across a restart. */
export class CountersFile {
  /** The root of the hashes of clients in the file: the tables that restore them need the same. */
  readonly hashRoot: Buffer;
  readonly #file: WholeFile;
  readonly #leastMs: number;
  readonly #isWritten: boolean;
  readonly #system: System;
  readonly #log: Logger;
  #saved: Saved | null;
  #writer: LateWriter | null = null;
  #look: (() => void) | null = null;
  #timer: Timer | null = null;

  private constructor(
    file: WholeFile,
    saved: Saved | null,
    leastMs: number,
    isWritten: boolean,
    system: System,
    log: Logger,
  ) {
    this.#file = file;
    this.#saved = saved;
    this.#isWritten = isWritten;
    this.hashRoot = saved?.hashRoot ?? randomKey(system.randomBytes);
    this.#leastMs = leastMs;
    this.#system = system;
    this.#log = log;
  }

  /** Reads the file. If that fails, logs why and starts empty. `isWritten`: whether the file is written again. */
  static async open(
    folder: string,
    leastMs: number,
    isWritten: boolean,
    system: System,
    log: Logger,
  ): Promise<CountersFile> {
    const file = new WholeFile(join(folder, 'weir.counters'), 'counters', system);
    try {
      return new CountersFile(file, savedIn(await file.read()), leastMs, isWritten, system, log);
    } catch (error) {
      log.error(
        { type: 'state', file: file.path, cause: causeOf(error) },
        'the counters file cannot be read, so every window starts over',
      );
      return new CountersFile(file, null, leastMs, isWritten, system, log);
    }
  }

  /** Restores these counters from the file, and from now on saves them if the file is written. */
  async follow(counters: LocalStore['kept']): Promise<void> {
    const { clock } = this.#system;
    const line = { type: 'state', file: this.#file.path };
    const saved = this.#saved;
    this.#saved = null;
    if (saved !== null) {
      const taken = await counters.restore(saved.limits, saved.rows, this.#leastMs);
      this.#log.info({ ...line, counters: taken }, 'continues with the counters from before it was stopped');
    }
    if (!this.#isWritten) return;
    const write = async () => {
      const limits = counters.limits(this.#leastMs);
      const header = {
        hashRoot: this.hashRoot.toString('base64'),
        limits: limits.map(limit => limit.identity),
      };
      return await this.#file.write(header, counters.rows(limits));
    };
    const onFault = (cause: string | null) => {
      if (cause === null) this.#log.info(line, 'the counters file is written again');
      else this.#log.error({ ...line, cause }, 'the counters file cannot be written: it is out of date');
    };
    await counters.countChanges();
    const writer = new LateWriter({ clock, write, onFault });
    let seen = counters.changes;
    this.#look = () => {
      const now = counters.changes;
      if (now === seen) return;
      seen = now;
      writer.noteChange();
    };
    this.#writer = writer;
    this.#timer = clock.every(LOOK_MS, this.#look);
  }

  /** How its writing goes; `null` if it is not written. */
  get health(): WriteHealth | null {
    return this.#writer?.health ?? null;
  }

  /** Writes what is pending, as `LateWriter.stop` does. */
  async stop(): Promise<void> {
    this.#system.clock.cancel(this.#timer);
    this.#look?.();
    await this.#writer?.stop();
  }
}

function savedIn(content: Awaited<ReturnType<WholeFile['read']>>): Saved | null {
  if (content === null) return null;
  const { header, body } = content;
  const { hashRoot, limits } = header;
  if (typeof hashRoot !== 'string' || !Array.isArray(limits)) return null;
  return { hashRoot: Buffer.from(hashRoot, 'base64'), limits: limits.map(String), rows: body };
}
