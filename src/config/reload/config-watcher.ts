import { errorText, type Files, type Timer, type TimerClock, Turns } from '../../core/index.ts';
import type { Diagnostic, Environment, Readings } from '../file/index.ts';
import { type LoadedConfig, loadConfig } from '../load.ts';
import type { Snapshot } from '../snapshot.ts';
import { FolderWatch } from './folder-watch.ts';

/** Is notified of the outcome of changed files while a gateway serves. */
export interface ReloadSink {
  /** Takes a new valid configuration. Throws or rejects, changing nothing, if it cannot be used. */
  take(loaded: LoadedConfig): void | Promise<void>;
  /** Called if the files have errors, once for each state of the files. */
  refuse(diagnostics: readonly Diagnostic[]): void;
  /** Called if the files contain the configuration in use: again after a refusal, or still at a requested reload. */
  unchanged(): void;
  /** Called if events can no longer report changes, so that only polling does. */
  unwatched(cause: unknown): void;
}

export interface ConfigWatcherOptions {
  readonly path: string;
  readonly env: Environment;
  /** The configuration in use at startup. */
  readonly loaded: LoadedConfig;
  readonly sink: ReloadSink;
  readonly clock: TimerClock;
  readonly files: Files;
  /** How long the files must stay unchanged before they count as finished. Default 100 ms. */
  readonly settleMs?: number;
  /** Polling interval while no event comes. Default 5 s. */
  readonly pollMs?: number;
  /** Loads the files. Default: in this thread. */
  readonly load?: typeof loadConfig;
  /** The configuration in use, parts of which the next one reuses. Default: none. */
  readonly current?: () => Snapshot;
  /** Times the turns that a reload takes. Default: they are not timed. */
  readonly turns?: Turns;
}

/** Bounds how long a series of events can delay a check, in multiples of `settleMs`. */
const MAX_WAIT = 10;

/**
 * Notices changed configuration files and loads them. A change counts once two checks, some time apart, and the load after them
 * read the same content: this waits for half-written files and for folders in the middle of a swap. Equal content is not a
 * change, whatever happened to the files.
 */
export class ConfigWatcher {
  /** The options without `loaded`, which is large and kept elsewhere. */
  readonly #options: Omit<ConfigWatcherOptions, 'loaded'>;
  readonly #settleMs: number;
  readonly #folders: FolderWatch;
  /** What the last load read, valid or not, to compare later checks with. */
  #known: Readings;
  /** The configuration in use, or about to be. */
  #taken: Readings;
  #generation: number;
  /** The room for counters, which a reload cannot change. */
  readonly #limitKeys: number;
  /** The resources of the process: V8 and the tables were sized by them at startup. */
  readonly #machine: LoadedConfig['machine'];
  /** The readings of the last check, if they were new. */
  #seen: Readings | null = null;
  #watches = true;
  #timer: Timer | null = null;
  #firstNoticeMs = 0;
  #poll: Timer | null = null;
  #turn: Promise<void> = Promise.resolve();
  /** How many steps are queued or running. */
  #steps = 0;
  /** Whether a requested load is waiting for its turn. */
  #asked = false;
  #stopped = false;

  constructor({ loaded, ...options }: ConfigWatcherOptions) {
    this.#options = options;
    this.#settleMs = options.settleMs ?? 100;
    this.#known = loaded.readings;
    this.#taken = loaded.readings;
    this.#generation = loaded.snapshot.generation;
    this.#limitKeys = loaded.snapshot.caps.limitKeys;
    this.#machine = loaded.machine;
    this.#folders = new FolderWatch(
      options.files,
      () => this.#lookSoon(),
      cause => this.#onUnwatched(cause),
    );
  }

  /** Whether events report changes; if not, polling finds them. */
  get watches(): boolean {
    return this.#watches;
  }

  /** Starts watching, and finds changes since the load. Resolves once no change can be missed. */
  start(): Promise<void> {
    // A pipe can be read only once, so there is nothing to watch.
    if (!this.#known.repeatable) return Promise.resolve();
    this.#enqueue(() => this.#look());
    const { clock, pollMs = 5_000 } = this.#options;
    this.#poll = clock.every(pollMs, () => {
      // Skips a check while another step runs: it would follow immediately, and see the same half-written file.
      if (this.#timer === null && this.#steps === 0) this.#enqueue(() => this.#look());
    });
    return this.#turn;
  }

  /** Stops. Resolves when a running load has ended. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.cancel(this.#poll);
    this.#options.clock.cancel(this.#timer);
    this.#folders.close();
    return this.#turn;
  }

  /**
   * Loads immediately, whether or not anything seems to have changed. Resolves when done; never rejects. Requests that arrive
   * before a load begins share it: a hundred signals do not cause a hundred loads.
   */
  reload(): Promise<void> {
    if (this.#asked) return this.#turn;
    this.#asked = true;
    this.#enqueue(() => {
      this.#asked = false;
      return this.#known.repeatable ? this.#load(null) : this.#refuseToRepeat();
    });
    return this.#turn;
  }

  /** Each event delays the check, because more events usually follow, but only up to a bound. */
  #lookSoon(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#timer === null) this.#firstNoticeMs = nowMs;
    else if (nowMs - this.#firstNoticeMs > MAX_WAIT * this.#settleMs) return;
    else clock.cancel(this.#timer);
    this.#timer = clock.after(this.#settleMs, () => {
      this.#timer = null;
      this.#enqueue(() => this.#look());
    });
  }

  #enqueue(step: () => Promise<void>): void {
    this.#steps++;
    this.#turn = this.#turn.then(async () => {
      if (!this.#stopped) await step();
      this.#steps--;
    });
  }

  async #look(): Promise<void> {
    // Watch before the check, so that a change after it causes an event.
    await this.#followFolders();
    const now = await this.#known.again();
    const before = this.#seen;
    this.#seen = null;
    if (now.equals(this.#known)) return;
    if (before !== null && now.equals(before)) return this.#load(now);
    this.#seen = now;
    this.#lookSoon();
  }

  /** @param seen the readings of two checks; `null` for a requested reload, whose sender knows that the files are finished */
  async #load(seen: Readings | null): Promise<void> {
    const { path, env, clock, files, sink, load = loadConfig, current, turns = new Turns() } = this.#options;
    try {
      const limitKeys = this.#limitKeys;
      const result = await load(path, {
        env,
        clock,
        files,
        limitKeys,
        machine: this.#machine,
        generation: this.#generation + 1,
        before: current?.() ?? null,
        turns,
      });
      if (this.#stopped) return;
      if (seen === null || result.readings.agreesWith(seen)) {
        this.#known = result.readings;
        if (result.readings.equals(this.#taken)) sink.unchanged();
        else if (result.ok) await this.#take(result);
        else sink.refuse(result.diagnostics);
      }
    } catch (fault) {
      // No file content may end the process.
      this.#known = seen ?? this.#known;
      sink.refuse([this.#diagnostic(`the configuration cannot be used: ${errorText(fault)}`)]);
    }
    // Files may have changed during the load, and new ones may be in other folders.
    this.#lookSoon();
  }

  async #take(loaded: LoadedConfig): Promise<void> {
    await this.#options.sink.take(loaded);
    this.#taken = loaded.readings;
    this.#generation = loaded.snapshot.generation;
  }

  async #refuseToRepeat(): Promise<void> {
    this.#options.sink.refuse([this.#diagnostic('a pipe cannot be read a second time: name a file')]);
  }

  async #followFolders(): Promise<void> {
    const { files, folders } = this.#known.followed;
    await this.#folders.follow(files, folders);
    if (this.#stopped) this.#folders.close();
  }

  #onUnwatched(cause: unknown): void {
    if (!this.#watches) return;
    this.#watches = false;
    this.#options.sink.unwatched(cause);
  }

  #diagnostic(message: string): Diagnostic {
    return { file: this.#options.path, line: null, column: null, message, severity: 'error' };
  }
}
