import type { StateModel } from '../../config/index.ts';
import type { Fact, Facts, FactTopic, System } from '../../core/index.ts';
import type { Logger } from '../../observe/index.ts';
import { CountersFile } from './counters-file.ts';
import { lockFolder } from './folder-lock.ts';
import { causeOf, LateWriter } from './late-writer.ts';
import { StateFile } from './state-file.ts';

const NOWHERE = { write: () => Promise.resolve(0) };

/** What a gateway keeps across a restart. */
export interface KeptState {
  /** Keeps the facts that pass through, including those of other gateways (`null` if there are none). Call it once. */
  keep(shared: Facts | null): Facts;
  /** Whether the folder was writable at startup. If not, its content is known, and nothing more is kept. */
  readonly isWritten: boolean;
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
  return keptState(file, facts ?? [], counters, isWritten ? lock : null, system, log);
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
  lock: { release(): Promise<void> } | null,
  { clock }: System,
  log: Logger,
): KeptState {
  const line = { type: 'state', file: file.path };
  let kept: KeptFacts | null = null;
  const onFault = (cause: string | null) => {
    if (cause === null) log.info(line, 'the state file is written again');
    else log.error({ ...line, cause }, 'the state file cannot be written: after a restart it is out of date');
  };
  return {
    keep(shared) {
      kept = new KeptFacts(facts, shared, { file: lock === null ? NOWHERE : file, clock, onFault });
      return kept;
    },
    isWritten: lock !== null,
    counters,
    async stop() {
      await Promise.all([kept?.stop(), counters?.stop()]);
      await lock?.release();
    },
  };
}

/**
 * Keeps the facts of a gateway in a file, so that it still knows them after a restart. They pass through to the other gateways,
 * if there are any.
 */
class KeptFacts implements Facts {
  readonly #shared: Facts | null;
  readonly #writer: LateWriter;
  readonly #topics = new Map<string, FactTopic>();
  /** Facts from the file that no topic has taken yet. */
  #kept: readonly Fact[];

  /**
   * @param kept the facts in the file
   * @param shared the source of other gateways' facts; `null` if there is only one gateway
   */
  constructor(
    kept: readonly Fact[],
    shared: Facts | null,
    options: { readonly file: Pick<StateFile, 'write'> } & Pick<
      ConstructorParameters<typeof LateWriter>[0],
      'clock' | 'onFault'
    >,
  ) {
    this.#kept = kept;
    this.#shared = shared;
    this.#writer = new LateWriter({ ...options, write: () => options.file.write(this.#everything()) });
  }

  get outgoing(): number {
    return this.#shared?.outgoing ?? 0;
  }

  join(topic: string, holder: FactTopic): void {
    if (holder.isOfProcess === true) {
      this.#shared?.join(topic, holder);
      return;
    }
    const kept = this.#kept.filter(({ name }) => name.startsWith(`${topic}:`));
    this.#kept = this.#kept.filter(fact => !kept.includes(fact));
    this.#topics.set(topic, holder);
    this.#shared?.join(topic, {
      learn: fact => {
        holder.learn(fact);
        this.#writer.noteChange();
      },
      everything: () => holder.everything(),
    });
    for (const fact of kept) {
      holder.learn({ ...fact, name: fact.name.slice(topic.length + 1) });
      // The others may not have learnt it before this gateway stopped.
      this.#shared?.post(fact);
    }
  }

  post(fact: Fact): void {
    this.#shared?.post(fact);
    this.#writer.noteChange();
  }

  withdraw(name: string, value: number): void {
    this.#shared?.withdraw(name, value);
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
