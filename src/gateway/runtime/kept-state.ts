import { join } from 'node:path';
import type { StateModel } from '../../config/index.ts';
import type { Fact, Facts, Holder, System } from '../../core/index.ts';
import type { Logger } from '../../observe/index.ts';
import { type CountersFile, openCounters } from './counters-file.ts';
import { lockFolder } from './folder-lock.ts';
import { causeOf, LateWriter, type WriteHealth } from './late-writer.ts';
import { factsIn, linesOf } from './state-file.ts';
import { WholeFile } from './whole-file.ts';

interface StateFileHealth extends WriteHealth {
  readonly file: 'state' | 'counters';
}

/** What a gateway keeps across a restart. */
export interface KeptState {
  /** Keeps facts across a restart. */
  readonly facts: Facts;
  /**
   * The files, that of the facts first. If the folder was not writable at startup, they were read but are not written; if another gateway
   * uses it, neither.
   */
  readonly files: readonly StateFileHealth[];
  /** The counters of long windows; `null` if they are not kept. */
  readonly counters: CountersFile | null;
  stop(): Promise<void>;
}

/** Opens the state folder, and logs why if that is not possible. Nothing there prevents a start. */
export async function openState(
  { folder, countersMs }: StateModel,
  system: System,
  log: Logger,
): Promise<KeptState> {
  const file = new WholeFile(join(folder, 'weir.state'), 'state', system);
  const line = { type: 'state', file: file.path };
  const lock = await lockFolder(folder, system).catch(error => ({ cause: causeOf(error) }));
  if (lock === null) {
    log.error(line, 'another gateway keeps its state in this folder: this one keeps nothing across restarts');
    return keptState(file, [], null, { cause: 'another gateway uses the folder' }, system, log);
  }
  // The content of a folder that is not writable, as on a full disk, may still be readable. Nobody else writes there now, but
  // without a lock somebody may later.
  const isWritten = !('cause' in lock);
  if (!isWritten)
    log.error(
      { ...line, cause: lock.cause },
      'the state folder cannot be used: nothing is kept across restarts',
    );
  const facts = await readFacts(file, line, log);
  if (facts !== null && (isWritten || facts.length > 0))
    log.info({ ...line, facts: facts.length }, 'continues with the state from before it was stopped');
  const counters =
    countersMs === null ? null : await openCounters(folder, countersMs, isWritten, system, log);
  return keptState(file, facts ?? [], counters, lock, system, log);
}

/** Returns `null`, and logs why, if the file cannot be read. */
async function readFacts(file: WholeFile, line: object, log: Logger): Promise<readonly Fact[] | null> {
  try {
    return await factsIn(file);
  } catch (error) {
    log.error(
      { ...line, cause: causeOf(error) },
      'the state file cannot be read, so this gateway begins without it: revoked tokens may pass, restrictions are forgotten',
    );
    return null;
  }
}

function keptState(
  file: WholeFile,
  facts: readonly Fact[],
  counters: CountersFile | null,
  lock: { release(): Promise<void> } | { readonly cause: string },
  { clock }: System,
  log: Logger,
): KeptState {
  const sinceMs = clock.epochMs();
  const line = { type: 'state', file: file.path };
  const onFault = (cause: string | null) => {
    if (cause === null) log.info(line, 'the state file is written again');
    else log.error({ ...line, cause }, 'the state file cannot be written: after a restart it is out of date');
  };
  const topics = new Map<string, Holder<Fact>>();
  function* everything(): Iterable<Fact> {
    for (const topic of topics.values()) yield* topic.everything();
  }
  const write = async () => ('cause' in lock ? 0 : await file.write({}, linesOf(everything())));
  const writer = new LateWriter({ clock, write, onFault });
  // Facts that no topic has taken yet.
  let left = facts;
  return {
    facts: {
      join(topic, holder) {
        const kept = left.filter(({ name }) => name.startsWith(`${topic}:`));
        left = left.filter(fact => !kept.includes(fact));
        topics.set(topic, holder);
        // Tell the other threads and gateways as well: the fact may not have reached them before this gateway stopped.
        for (const fact of kept) holder.learn({ ...fact, name: fact.name.slice(topic.length + 1) });
      },
      post: () => writer.noteChange(),
      withdraw: () => writer.noteChange(),
    },
    get files() {
      if ('cause' in lock)
        return [
          { file: 'state', failures: 1, fault: { cause: lock.cause, sinceMs }, writtenAtMs: null } as const,
        ];
      const files: StateFileHealth[] = [{ file: 'state', ...writer.health }];
      const ofCounters = counters?.health ?? null;
      if (ofCounters !== null) files.push({ file: 'counters', ...ofCounters });
      return files;
    },
    counters,
    async stop() {
      await Promise.all([writer.stop(), counters?.stop()]);
      if (!('cause' in lock)) await lock.release();
    },
  };
}
