import { join } from 'node:path';
import { randomKey, type System, type Timer } from '../../core/index.ts';
import type { MemoryStore } from '../../limits/index.ts';
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

export type CountersFile = Awaited<ReturnType<typeof openCounters>>;

/**
 * Keeps the counters of long windows across a restart. Reads their file; if that fails, logs why and starts empty.
 *
 * @param isWritten whether the file is written again
 */
export async function openCounters(
  folder: string,
  leastMs: number,
  isWritten: boolean,
  system: System,
  log: Logger,
) {
  const { clock } = system;
  const file = new WholeFile(join(folder, 'weir.counters'), 'counters', system);
  const line = { type: 'state', file: file.path };
  let saved: Saved | null = null;
  try {
    saved = savedIn(await file.read());
  } catch (error) {
    log.error(
      { ...line, cause: causeOf(error) },
      'the counters file cannot be read, so every window starts over',
    );
  }
  const hashRoot = saved?.hashRoot ?? randomKey(system.randomBytes);
  const onFault = (cause: string | null) => {
    if (cause === null) log.info(line, 'the counters file is written again');
    else log.error({ ...line, cause }, 'the counters file cannot be written: it is out of date');
  };
  let writer: LateWriter | null = null;
  let look = () => {};
  let timer: Timer | null = null;
  return {
    /** The root of the hashes of clients in the file. The tables that restore counters must use it as well. */
    hashRoot,
    /** Restores these counters from the file, and from now on saves them if the file is written. */
    async follow(counters: MemoryStore['kept']): Promise<void> {
      if (saved !== null) {
        const taken = await counters.restore(saved.limits, saved.rows, leastMs);
        log.info({ ...line, counters: taken }, 'continues with the counters from before it was stopped');
        saved = null;
      }
      if (!isWritten) return;
      const write = () => {
        const limits = counters.limits(leastMs);
        const header = {
          hashRoot: hashRoot.toString('base64'),
          limits: limits.map(({ identity }) => identity),
        };
        return file.write(header, counters.rows(limits));
      };
      await counters.countChanges();
      const late = new LateWriter({ clock, write, onFault });
      let seen = counters.changes;
      look = () => {
        const now = counters.changes;
        if (now !== seen) late.noteChange();
        seen = now;
      };
      writer = late;
      timer = clock.every(LOOK_MS, look);
    },
    /** Whether writes succeed; `null` if the file is not written. */
    get health(): WriteHealth | null {
      return writer?.health ?? null;
    },
    /** Writes what is pending, as `LateWriter.stop` does. */
    async stop(): Promise<void> {
      clock.cancel(timer);
      look();
      await writer?.stop();
    },
  };
}

function savedIn(content: Awaited<ReturnType<WholeFile['read']>>): Saved | null {
  if (content === null) return null;
  const { header, body } = content;
  const { hashRoot, limits } = header;
  if (typeof hashRoot !== 'string' || !Array.isArray(limits)) return null;
  return { hashRoot: Buffer.from(hashRoot, 'base64'), limits: limits.map(String), rows: body };
}
