import type { Fact, Facts, FactTopic, System, Timer, TimerClock } from '../core/index.ts';
import { errorText } from '../core/index.ts';
import type { Logger } from '../observe/index.ts';
import { lockFolder, StateFile } from './state-file.ts';

/** What a gateway keeps over a restart. */
export interface KeptState {
  /** Keeps the facts that pass through, those of other gateways (`null` if there are none) included. Call it once. */
  keep(shared: Facts | null): Facts;
  /** Writes what is left to write, and gives the folder free. */
  stop(): Promise<void>;
}

/** Opens the folder of state. Returns `null`, and says why, if the gateway has to do without it: that never stops a start. */
export async function openState(folder: string, system: System, log: Logger): Promise<KeptState | null> {
  const file = new StateFile(folder, system);
  const line = { type: 'state', file: file.path };
  try {
    const lock = await lockFolder(folder, system);
    if (lock === null) {
      log.error(
        line,
        'another gateway keeps its state in this folder: this one keeps nothing over a restart',
      );
      return null;
    }
    return keptState(file, await readFacts(file, line, log), lock, system, log);
  } catch (error) {
    log.error(
      { ...line, cause: causeOf(error) },
      'the folder of state cannot be used: nothing is kept over a restart',
    );
    return null;
  }
}

async function readFacts(file: StateFile, line: object, log: Logger): Promise<readonly Fact[]> {
  try {
    const facts = await file.read();
    log.info({ ...line, facts: facts.length }, 'knows what it knew before it was stopped');
    return facts;
  } catch (error) {
    log.error(
      { ...line, cause: causeOf(error) },
      'the file of state cannot be read, so this gateway begins without it: revoked tokens may pass, restrictions are forgotten',
    );
    return [];
  }
}

function keptState(
  file: StateFile,
  facts: readonly Fact[],
  lock: { release(): Promise<void> },
  { clock }: System,
  log: Logger,
): KeptState {
  const line = { type: 'state', file: file.path };
  let kept: KeptFacts | null = null;
  const onFault = (cause: string | null) => {
    if (cause === null) log.info(line, 'the file of state is written again');
    else
      log.error({ ...line, cause }, 'the file of state cannot be written: after a restart it is out of date');
  };
  return {
    keep(shared) {
      kept = new KeptFacts(facts, shared, { file, clock, onFault });
      return kept;
    },
    async stop() {
      await kept?.stop();
      await lock.release();
    },
  };
}

function causeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? errorText(error);
}

interface KeptFactsDependencies {
  readonly file: Pick<StateFile, 'write'>;
  readonly clock: TimerClock;
  /** Hears once that the file cannot be written, by a cause or another, and that it can be again (`null`). */
  readonly onFault: (cause: string | null) => void;
}

/** How soon after a change the file is written. */
const WRITE_AFTER_MS = 250;
/** How soon it is tried again where it cannot be written. */
const RETRY_MS = 1_000;
/** A file that takes long to write is written less often: never for more than a tenth of the time. */
const REST_SHARE = 9;

/**
 * Keeps the facts of a gateway in a file, so that it still knows them after a restart. They pass through to the other gateways,
 * if there are any.
 */
class KeptFacts implements Facts {
  readonly #dependencies: KeptFactsDependencies;
  readonly #shared: Facts | null;
  readonly #topics = new Map<string, FactTopic>();
  /** The facts of the file that no topic has taken yet. */
  #kept: readonly Fact[];
  #changed = false;
  #stopped = false;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  #fault: string | null = null;

  /**
   * @param kept the facts that the file held
   * @param shared where the facts of other gateways come from; `null` if there is one alone
   */
  constructor(kept: readonly Fact[], shared: Facts | null, dependencies: KeptFactsDependencies) {
    this.#kept = kept;
    this.#shared = shared;
    this.#dependencies = dependencies;
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
        this.#noteChange();
      },
      everything: () => holder.everything(),
    });
    for (const fact of kept) {
      holder.learn({ ...fact, name: fact.name.slice(topic.length + 1) });
      // The others may not have heard of it before this gateway stopped.
      this.#shared?.post(fact);
    }
  }

  post(fact: Fact): void {
    this.#shared?.post(fact);
    this.#noteChange();
  }

  withdraw(name: string, value: number): void {
    this.#shared?.withdraw(name, value);
    this.#noteChange();
  }

  /** Writes what is left to write. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#dependencies.clock.cancel(this.#timer);
    await this.#writing;
    if (this.#changed) await this.#write();
  }

  #noteChange(): void {
    if (this.#changed) return;
    this.#changed = true;
    if (this.#writing === null && !this.#stopped) this.#writeAfter(WRITE_AFTER_MS);
  }

  #writeAfter(ms: number): void {
    this.#timer = this.#dependencies.clock.after(ms, () => {
      this.#writing = this.#write().finally(() => {
        this.#writing = null;
      });
    });
  }

  async #write(): Promise<void> {
    const { file, clock } = this.#dependencies;
    const beganAtMs = clock.monotonicMs();
    this.#changed = false;
    try {
      await file.write(this.#everything());
      this.#tell(null);
    } catch (error) {
      this.#tell((error as NodeJS.ErrnoException).code ?? errorText(error));
      this.#changed = true;
    }
    if (!this.#changed || this.#stopped) return;
    const restMs = REST_SHARE * (clock.monotonicMs() - beganAtMs);
    this.#writeAfter(Math.max(this.#fault === null ? WRITE_AFTER_MS : RETRY_MS, restMs));
  }

  *#everything(): Iterable<Fact> {
    for (const topic of this.#topics.values()) yield* topic.everything();
  }

  #tell(fault: string | null): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#dependencies.onFault(fault);
  }
}
