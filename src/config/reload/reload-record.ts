import type { AppliedEvent, Clock, ConfigEvent, ReloadListener, ReplacedEvent } from '../../core/index.ts';

/** A configuration, and since when it is in use or waiting. */
export interface RunningConfig extends ConfigEvent {
  readonly sinceMs: number;
}

/** Maximum reloads remembered, changes of each, and characters per change or error: 50 KB together. */
const MAX_RELOADS = 20;
const MAX_CHANGES = 8;
const MAX_TEXT = 300;

/** Remembers how reloads ended, for the status page. Times are milliseconds since the epoch. */
export class ReloadRecord implements Partial<ReloadListener> {
  readonly #clock: Clock;
  #running: RunningConfig = { generation: 0, hash: '', sinceMs: 0 };
  #changes: readonly string[] = [];
  #next: RunningConfig | null = null;
  #failure: ReloadFailure | null = null;
  #reloads: readonly Reload[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get running(): RunningConfig {
    return this.#running;
  }

  /** The changes of the last reload in words, one line each; empty before the first. */
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

  /** How the last reloads ended, the latest first. */
  get reloads(): readonly Reload[] {
    return this.#reloads;
  }

  started(event: AppliedEvent): void {
    this.#running = this.#now(event);
  }

  applied(event: ReplacedEvent): void {
    this.#running = this.#now(event);
    this.#changes = event.changes;
    const { generation, hash, changes } = event;
    this.#remember({
      outcome: 'applied',
      atMs: this.#running.sinceMs,
      generation,
      hash,
      changes: changes.slice(0, MAX_CHANGES).map(shortened),
      moreChanges: Math.max(0, changes.length - MAX_CHANGES),
    });
    this.#next = null;
    this.#mend();
  }

  waiting(event: ConfigEvent): void {
    this.#next = this.#now(event);
  }

  refused(errors: readonly string[]): void {
    const atMs = this.#clock.epochMs();
    this.#failure = { atMs, errors, mended: false };
    const [error = ''] = errors;
    this.#remember({
      outcome: 'refused',
      atMs,
      error: shortened(error),
      moreErrors: Math.max(0, errors.length - 1),
    });
  }

  unchanged(): void {
    this.#mend();
  }

  #remember(reload: Reload): void {
    const [last] = this.#reloads;
    // The same refused files count once, however often a reload is requested.
    const isRepeated =
      reload.outcome === 'refused' && last?.outcome === 'refused' && last.error === reload.error;
    const others = isRepeated ? this.#reloads.slice(1) : this.#reloads;
    this.#reloads = [reload, ...others.slice(0, MAX_RELOADS - 1)];
  }

  #mend(): void {
    if (this.#failure !== null) this.#failure = { ...this.#failure, mended: true };
  }

  #now({ generation, hash }: ConfigEvent): RunningConfig {
    return { generation, hash, sinceMs: this.#clock.epochMs() };
  }
}

export type Reload =
  | {
      readonly outcome: 'applied';
      readonly atMs: number;
      readonly generation: number;
      readonly hash: string;
      /** Its first changes in words, the strictest first. */
      readonly changes: readonly string[];
      readonly moreChanges: number;
    }
  | {
      readonly outcome: 'refused';
      readonly atMs: number;
      readonly error: string;
      readonly moreErrors: number;
    };

function shortened(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text;
}

/** A refused state of the files. */
export interface ReloadFailure {
  readonly atMs: number;
  readonly errors: readonly string[];
  /** Whether the files have been valid since. */
  readonly mended: boolean;
}
