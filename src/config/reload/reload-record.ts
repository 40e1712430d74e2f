import type { AppliedEvent, Clock, ConfigEvent, ReloadListener, ReplacedEvent } from '../../core/index.ts';

/** A configuration, and since when it is in use or waiting. */
export interface RunningConfig extends ConfigEvent {
  readonly sinceMs: number;
}

/** Remembers how reloads ended, for the status page. Moments are milliseconds since the epoch. */
export class ReloadRecord implements Partial<ReloadListener> {
  readonly #clock: Clock;
  #running: RunningConfig = { generation: 0, hash: '', sinceMs: 0 };
  #changes: readonly string[] = [];
  #next: RunningConfig | null = null;
  #failure: ReloadFailure | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get running(): RunningConfig {
    return this.#running;
  }

  /** What the last reload changed, in words, one line each; empty before the first. */
  get changes(): readonly string[] {
    return this.#changes;
  }

  /** The configuration that takes effect once its identity provider has answered. */
  get next(): RunningConfig | null {
    return this.#next;
  }

  /** The last refusal, even if the files have been valid since. */
  get failure(): ReloadFailure | null {
    return this.#failure;
  }

  started(event: AppliedEvent): void {
    this.#running = this.#now(event);
  }

  applied(event: ReplacedEvent): void {
    this.#running = this.#now(event);
    this.#changes = event.changes;
    this.#next = null;
    this.#mend();
  }

  waiting(event: ConfigEvent): void {
    this.#next = this.#now(event);
  }

  refused(errors: readonly string[]): void {
    this.#failure = { atMs: this.#clock.epochMs(), errors, mended: false };
  }

  unchanged(): void {
    this.#mend();
  }

  #mend(): void {
    if (this.#failure !== null) this.#failure = { ...this.#failure, mended: true };
  }

  #now({ generation, hash }: ConfigEvent): RunningConfig {
    return { generation, hash, sinceMs: this.#clock.epochMs() };
  }
}

/** A refused state of the files. */
export interface ReloadFailure {
  readonly atMs: number;
  readonly errors: readonly string[];
  /** Whether the files have been valid since. */
  readonly mended: boolean;
}
