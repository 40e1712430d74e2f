import type { Clock } from '../../core/index.ts';
import type { Diagnostic, Environment, Readings } from '../file/index.ts';
import { type LoadedConfig, loadConfig } from '../load.ts';
import { FolderWatch } from './folder-watch.ts';

/** What becomes of the files while a gateway serves. */
export interface ReloadSink {
  /** Another configuration without mistakes. Throws when it cannot be used all the same: then nothing has changed. */
  take(loaded: LoadedConfig): void;
  /** The files have mistakes: reported once for each state of the files. */
  refuse(diagnostics: readonly Diagnostic[]): void;
  /** The files hold what was taken last: again, after a refusal, or still, when somebody asked. */
  unchanged(): void;
  /** Changes are not noticed by events any more, but only by looking now and then. */
  unwatched(cause: unknown): void;
}

export interface ConfigWatcherOptions {
  /** gateway.yaml. */
  readonly path: string;
  readonly env: Environment;
  /** What serves at the start. */
  readonly loaded: LoadedConfig;
  readonly sink: ReloadSink;
  readonly clock: Clock;
  /** So long the files must have stayed the same before they are taken for finished. Default 100 ms. */
  readonly settleMs?: number;
  /** Between two looks when no event comes. Default 5 s. */
  readonly pollMs?: number;
}

/** A stream of events does not put off a look for longer than so many times the settling time. */
const MAX_WAIT = 10;

/**
 * Notices that files of the configuration changed, and loads them. A change counts when two looks, some time apart, see the same
 * content, and the load between them and the swap has read that content too: so a file that is half written, or a folder in the
 * middle of a swap, is waited for. Equal content is no change, whatever happened to the files.
 */
export class ConfigWatcher {
  /** Without what was loaded, which is large and serves elsewhere. */
  readonly #options: Omit<ConfigWatcherOptions, 'loaded'>;
  readonly #settleMs: number;
  readonly #folders: FolderWatch;
  /** What the last load read, good or bad: a look compares with it. */
  #known: Readings;
  /** What serves, or will when it is ready. */
  #taken: Readings;
  #generation: number;
  /** What the last look saw, when that was something new. */
  #seen: Readings | null = null;
  #watches = true;
  #timer: NodeJS.Timeout | null = null;
  #firstNoticeMs = 0;
  #poll: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor({ loaded, ...options }: ConfigWatcherOptions) {
    this.#options = options;
    this.#settleMs = options.settleMs ?? 100;
    this.#known = loaded.readings;
    this.#taken = loaded.readings;
    this.#generation = loaded.snapshot.generation;
    this.#folders = new FolderWatch(
      () => this.#lookSoon(),
      cause => this.#onUnwatched(cause),
    );
  }

  /** False: events do not come, and changes are found by looking now and then. */
  get watches(): boolean {
    return this.#watches;
  }

  /** Begins to watch. What has changed since the load is found too. Resolves when no change can be missed any more. */
  start(): Promise<void> {
    // A pipe gives its bytes once: there is nothing to look at.
    if (!this.#known.repeatable) return Promise.resolve();
    this.#enqueue(() => this.#look());
    this.#poll = setInterval(() => {
      if (this.#timer === null) this.#enqueue(() => this.#look());
    }, this.#options.pollMs ?? 5_000);
    this.#poll.unref();
    return this.#turn;
  }

  /** Takes nothing any more. Resolves when a load that is under way has ended. */
  stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#poll);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#folders.close();
    return this.#turn;
  }

  /** Loads at once, whether or not anything seems to have changed. Resolves when it is decided; never rejects. */
  reload(): Promise<void> {
    this.#enqueue(() => (this.#known.repeatable ? this.#load(null) : this.#refuseToRepeat()));
    return this.#turn;
  }

  /** Each notice puts the look off, since more mostly follow, but not for ever. */
  #lookSoon(): void {
    if (this.#stopped) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#timer === null) this.#firstNoticeMs = nowMs;
    else if (nowMs - this.#firstNoticeMs > MAX_WAIT * this.#settleMs) return;
    else clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#enqueue(() => this.#look());
    }, this.#settleMs);
    this.#timer.unref();
  }

  /** One thing at a time. */
  #enqueue(step: () => Promise<void>): void {
    this.#turn = this.#turn.then(async () => {
      if (!this.#stopped) await step();
    });
  }

  async #look(): Promise<void> {
    // The folders first: what changes after the look is an event then.
    await this.#followFolders();
    const now = await this.#known.again();
    const before = this.#seen;
    this.#seen = null;
    if (now.equals(this.#known)) return;
    if (before !== null && now.equals(before)) return this.#load(now);
    this.#seen = now;
    this.#lookSoon();
  }

  /** @param seen what two looks saw; null: somebody asked, and knows that the files are finished */
  async #load(seen: Readings | null): Promise<void> {
    const { path, env, clock, sink } = this.#options;
    try {
      const result = await loadConfig(path, { env, clock, generation: this.#generation + 1 });
      if (this.#stopped) return;
      if (seen === null || result.readings.agreesWith(seen)) {
        this.#known = result.readings;
        if (result.readings.equals(this.#taken)) sink.unchanged();
        else if (result.ok) this.#take(result);
        else sink.refuse(result.diagnostics);
      }
    } catch (fault) {
      // Nothing that a file holds ends the process, whatever was overlooked.
      this.#known = seen ?? this.#known;
      sink.refuse([this.#diagnostic(`the configuration cannot be used: ${textOf(fault)}`)]);
    }
    // What changed while it was read; and the new files may be in other folders.
    this.#lookSoon();
  }

  #take(loaded: LoadedConfig): void {
    this.#options.sink.take(loaded);
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

function textOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
