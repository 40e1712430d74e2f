import type { Clock } from '../../core/index.ts';

/** Something that waits for a response. */
export interface Waiting {
  /** Set by the queue. */
  dueMs: number;
}

/**
 * Enforces one deadline for all responses with a single timer: one for each would cost more than the rest of a command. The
 * timer is not moved when a response arrives; when it fires, it checks what is still waiting.
 */
export class Deadlines<W extends Waiting> {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  readonly #overdue: (late: readonly W[]) => void;
  /** In the order in which they fall due. */
  readonly #waiting = new Set<W>();
  #timer: NodeJS.Timeout | null = null;

  /** `overdue` is called with those that waited too long; they are no longer watched. */
  constructor(clock: Clock, budgetMs: number, overdue: (late: readonly W[]) => void) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#overdue = overdue;
  }

  add(waiting: W): void {
    waiting.dueMs = this.#clock.monotonicMs() + this.#budgetMs;
    this.#waiting.add(waiting);
    this.#timer ??= this.#arm(this.#budgetMs);
  }

  /** False if it was already reported as overdue. */
  remove(waiting: W): boolean {
    return this.#waiting.delete(waiting);
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      const [first] = this.#waiting;
      const leftMs = first === undefined ? 0 : first.dueMs - this.#clock.monotonicMs();
      if (first === undefined) this.#timer = null;
      else if (leftMs > 0) this.#timer = this.#arm(leftMs);
      // After a pause of this process the responses may be in the socket's buffer, which is read after timers run.
      else setImmediate(() => this.#takeOverdue());
    }, ms).unref();
  }

  #takeOverdue(): void {
    const nowMs = this.#clock.monotonicMs();
    const late: W[] = [];
    let nextMs = -1;
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > nowMs) {
        nextMs = waiting.dueMs - nowMs;
        break;
      }
      late.push(waiting);
    }
    for (const waiting of late) this.#waiting.delete(waiting);
    this.#timer = nextMs < 0 ? null : this.#arm(nextMs);
    if (late.length > 0) this.#overdue(late);
  }
}
