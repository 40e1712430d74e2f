import type { Clock } from '../../core/index.ts';
import type { Logger } from './logging.ts';

/** A listener that throws may do so for every request: each kind of call is logged once per interval, with the number of faults. */
const INTERVAL_MS = 60_000;

/** Faults in one kind of call. */
interface Series {
  /** Last logged, by the monotonic clock. */
  loggedAtMs: number;
  /** Since then. */
  faults: number;
}

/** Logs that something which observes the gateway has thrown: metrics, the log or spans then lack what it was told. */
export class ListenerFaults {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #series = new Map<string, Series>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Never throws, even if it is the log that failed. */
  readonly note = (method: string, fault: unknown): void => {
    try {
      this.#note(method, fault);
    } catch {
      // There is no one left to tell.
    }
  };

  #note(method: string, fault: unknown): void {
    const nowMs = this.#clock.monotonicMs();
    const series = this.#series.get(method) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, faults: 0 };
    series.faults++;
    this.#series.set(method, series);
    if (nowMs - series.loggedAtMs < INTERVAL_MS) return;
    const cause = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    const { faults } = series;
    series.loggedAtMs = nowMs;
    series.faults = 0;
    this.#log.error(
      { type: 'fault', side: 'gateway', method, faults, cause },
      'metrics or logs lack something: their code failed',
    );
  }
}
