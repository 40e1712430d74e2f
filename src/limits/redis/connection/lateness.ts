import type { Clock } from '../../../core/index.ts';

/** Late replies that lie this many budgets apart are more than a pause of the server or of this machine. */
const PAUSE_BUDGETS = 3;
/** Late replies count as consecutive if they are at most this far apart. */
const ROW_MS = 1_000;

/** Replies are counted in windows of so many budgets: that of now, and the one before. */
const WINDOW_BUDGETS = 10;
/** With fewer late replies than this, Redis does not count as slow, whatever their share. */
const MIN_LATE = 5;
/** Late replies per reply in time from which Redis counts as slow: below this ratio it still decides most requests. */
const MOST = 3;

/** How often replies of Redis come too late, to tell a server that is silent or slow from one whose replies vary. */
export class Lateness {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  /** When the first and the last of consecutive late replies were due; NaN if none is late. */
  #sinceMs = Number.NaN;
  #lastMs = Number.NaN;
  /** The window of now, and the counts of it and of the one before. */
  #window = 0;
  #counts = nothing();
  #before = nothing();

  constructor(clock: Clock, budgetMs: number) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
  }

  /** Whether replies have been missing for so long that nothing sent on this connection will be answered in time. */
  get isSilent(): boolean {
    return this.#lastMs - this.#sinceMs >= PAUSE_BUDGETS * this.#budgetMs;
  }

  /** Whether most replies of the last moment were late: waiting for more of them costs requests the whole budget, for nothing. */
  get isSlow(): boolean {
    const late = this.#counts.late + this.#before.late;
    const isMost = late >= MIN_LATE && late >= MOST * (this.#counts.inTime + this.#before.inTime);
    const firstMs = Math.min(this.#before.firstLateMs, this.#counts.firstLateMs);
    return isMost && this.#lastMs - firstMs >= PAUSE_BUDGETS * this.#budgetMs;
  }

  /** @param isSignOfLife false if it may come from another server than the one that owes replies */
  inTime(isSignOfLife: boolean): void {
    this.#turn();
    this.#counts.inTime++;
    if (isSignOfLife) this.spoke();
  }

  /** The server that owed a late reply has sent it: it is not silent. */
  spoke(): void {
    this.#sinceMs = Number.NaN;
  }

  /** The budgets of so many replies are over. */
  late(count: number): void {
    const nowMs = this.#turn();
    this.#counts.late += count;
    this.#counts.firstLateMs = Math.min(this.#counts.firstLateMs, nowMs);
    const isInRow = nowMs - this.#lastMs <= ROW_MS && !Number.isNaN(this.#sinceMs);
    if (!isInRow) this.#sinceMs = nowMs;
    this.#lastMs = nowMs;
  }

  #turn(): number {
    const nowMs = this.#clock.monotonicMs();
    const window = Math.floor(nowMs / (WINDOW_BUDGETS * this.#budgetMs));
    if (window !== this.#window) {
      this.#before = window === this.#window + 1 ? this.#counts : nothing();
      this.#counts = nothing();
      this.#window = window;
    }
    return nowMs;
  }
}

function nothing() {
  return { late: 0, inTime: 0, firstLateMs: Number.POSITIVE_INFINITY };
}
