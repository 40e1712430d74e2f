import type { StateModel } from '../../config/index.ts';
import type { Fact, Facts, Holder, System } from '../../core/index.ts';
import type { Logger, StateFileView } from '../../observe/index.ts';
import { CountersFile } from './counters-file.ts';
import { lockFolder } from './folder-lock.ts';
import { causeOf, LateWriter, type WriteHealth } from './late-writer.ts';
import { StateFile } from './state-file.ts';

const NOWHERE = { write: () => Promise.resolve(0) };

/** What a gateway keeps across a restart. */
export interface KeptState {
  /** Carries facts past the restart. */
  readonly facts: Facts;
  /**
   * The files, the one of the facts first. If the folder was not writable at startup, their content is known, and nothing more is
   * kept.
   */
  readonly files: readonly StateFileView[];
  /** The counters of long windows; `null` if they are not kept. */
  readonly counters: CountersFile | null;
  /** Writes what is pending, and releases the folder. */
  stop(): Promise<void>;
}

/** Opens the state folder. Returns `null`, and logs why, if another gateway uses it. No content there prevents a start. */
export async function openState(
  { folder, countersMs }: StateModel,
  system: System,
  log: Logger,
): Promise<KeptState | null> {
  const file = new StateFile(folder, system);
  const line = { type: 'state', file: file.path };
  const lock = await lockFolder(folder, system).catch(error => ({ cause: causeOf(error) }));
  if (lock === null) {
    log.error(line, 'another gateway keeps its state in this folder: this one keeps nothing across restarts');
    return null;
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
    countersMs === null ? null : await CountersFile.open(folder, countersMs, isWritten, system, log);
  return keptState(file, facts ?? [], counters, lock, system, log);
}

/** Returns `null`, and logs why, if the file cannot be read. */
async function readFacts(file: StateFile, line: object, log: Logger): Promise<readonly Fact[] | null> {
  try {
    return await file.read();
  } catch (error) {
    log.error(
      { ...line, cause: causeOf(error) },
      'the state file cannot be read, so this gateway begins without it: revoked tokens may pass, restrictions are forgotten',
    );
    return null;
  }
}

function keptState(
  file: StateFile,
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
  const kept = new KeptFacts(facts, { file: 'cause' in lock ? NOWHERE : file, clock, onFault });
  return {
    facts: kept,
    get files(): readonly StateFileView[] {
      if ('cause' in lock)
        return [{ file: 'state', failures: 1, fault: { cause: lock.cause, sinceMs }, writtenAtMs: null }];
      const files: StateFileView[] = [{ file: 'state', ...kept.health }];
      const ofCounters = counters?.health ?? null;
      if (ofCounters !== null) files.push({ file: 'counters', ...ofCounters });
      return files;
    },
    counters,
    async stop() {
      await Promise.all([kept.stop(), counters?.stop()]);
      if (!('cause' in lock)) await lock.release();
    },
  };
}

/** Keeps the facts of a gateway in a file, so that it still knows them after a restart. */
class KeptFacts implements Facts {
  readonly #writer: LateWriter;
  readonly #topics = new Map<string, Holder<Fact>>();
  /** Facts from the file that no topic has taken yet. */
  #kept: readonly Fact[];

  /** @param kept the facts in the file */
  constructor(
    kept: readonly Fact[],
    options: { readonly file: Pick<StateFile, 'write'> } & Pick<
      ConstructorParameters<typeof LateWriter>[0],
      'clock' | 'onFault'
    >,
  ) {
    this.#kept = kept;
    this.#writer = new LateWriter({ ...options, write: () => options.file.write(this.#everything()) });
  }

  get health(): WriteHealth {
    return this.#writer.health;
  }

  join(topic: string, holder: Holder<Fact>): void {
    const kept = this.#kept.filter(({ name }) => name.startsWith(`${topic}:`));
    this.#kept = this.#kept.filter(fact => !kept.includes(fact));
    this.#topics.set(topic, holder);
    // The others learn it as well: it may not have reached them before this gateway stopped.
    for (const fact of kept) holder.learn({ ...fact, name: fact.name.slice(topic.length + 1) });
  }

  post(): void {
    this.#writer.noteChange();
  }

  withdraw(): void {
    this.#writer.noteChange();
  }

  /** Writes what is pending. */
  stop(): Promise<void> {
    return this.#writer.stop();
  }

  *#everything(): Iterable<Fact> {
    for (const topic of this.#topics.values()) yield* topic.everything();
  }
}
