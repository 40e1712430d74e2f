import { errorText, finishedWithin, type Timer, type TimerClock } from '../../core/index.ts';

export interface WriteHealth {
  readonly failures: number;
  /** Why the file is out of date, and since when; `null` if it is not. */
  readonly fault: { readonly cause: string; readonly sinceMs: number } | null;
  /** When it was last written; `null` if not since startup. */
  readonly writtenAtMs: number | null;
}

interface LateWriterOptions {
  readonly clock: TimerClock;
  /** Returns how many bytes were written. */
  readonly write: () => Promise<number>;
  /** Called once if writing fails, for each cause, and with `null` when it succeeds again. */
  readonly onFault: (cause: string | null) => void;
}

/** How soon after a change it is written. */
const WRITE_AFTER_MS = 250;
/** How soon a failed write is retried. */
const RETRY_MS = 1_000;
/**
 * From this size on, writing a file costs noticeable processor time, so it is limited to a tenth of the time. For smaller files
 * only the disk matters.
 */
const LARGE_BYTES = 1_048_576;
const REST_SHARE = 9;
/** How long a stopping gateway waits for the disk. */
const STOP_MS = 5_000;

export class LateWriter {
  readonly #options: LateWriterOptions;
  #changed = false;
  #stopped = false;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  #fault: WriteHealth['fault'] = null;
  #failures = 0;
  #writtenAtMs: number | null = null;

  constructor(options: LateWriterOptions) {
    this.#options = options;
  }

  get health(): WriteHealth {
    return { failures: this.#failures, fault: this.#fault, writtenAtMs: this.#writtenAtMs };
  }

  noteChange(): void {
    if (this.#changed) return;
    this.#changed = true;
    if (this.#writing === null && !this.#stopped) this.#writeAfter(WRITE_AFTER_MS);
  }

  /** Writes what is pending. Waits for at most 5 s, and calls `onFault` if that was not enough. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.cancel(this.#timer);
    const isWritten = await finishedWithin(STOP_MS, this.#writeRest(), this.#options.clock);
    if (!isWritten) this.#tell(`it took more than ${STOP_MS} ms at the end`);
  }

  async #writeRest(): Promise<void> {
    await this.#writing;
    if (this.#changed) await this.#write();
  }

  #writeAfter(ms: number): void {
    this.#timer = this.#options.clock.after(ms, () => {
      this.#writing = this.#write().finally(() => {
        this.#writing = null;
      });
    });
  }

  async #write(): Promise<void> {
    const { write, clock } = this.#options;
    const beganAtMs = clock.monotonicMs();
    this.#changed = false;
    let bytes = 0;
    try {
      bytes = await write();
      this.#writtenAtMs = clock.epochMs();
      this.#tell(null);
    } catch (error) {
      this.#failures++;
      this.#tell(causeOf(error));
      this.#changed = true;
    }
    if (!this.#changed || this.#stopped) return;
    const restMs = bytes < LARGE_BYTES ? 0 : REST_SHARE * (clock.monotonicMs() - beganAtMs);
    this.#writeAfter(Math.max(this.#fault === null ? WRITE_AFTER_MS : RETRY_MS, restMs));
  }

  #tell(cause: string | null): void {
    const { clock, onFault } = this.#options;
    if (cause === (this.#fault?.cause ?? null)) return;
    this.#fault = cause === null ? null : { cause, sinceMs: this.#fault?.sinceMs ?? clock.epochMs() };
    onFault(cause);
  }
}

/** The system's code for an error, or its text. */
export function causeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? errorText(error);
}
