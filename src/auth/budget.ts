import type { Clock } from '../core/index.ts';
import type { BudgetOptions } from './options.ts';
import { makeRoom } from './refusals.ts';

/** Decides whether an address may have one more token checked. */
export interface CheckBudget {
  /** Milliseconds that the address has to wait; 0 when a check may be made now. */
  waitMs(address: string): number;
  /** Counts failed checks against the address's budget. */
  failed(address: string, checks: number): void;
}

/** A budget whose options a reload may replace. */
export interface FailureBudget extends CheckBudget {
  /** Replaces the options. Counts stay, and open windows close when they would have closed before. */
  use(options: BudgetOptions): void;
}

/** One period of one address, opened by its first failure. */
interface Window {
  /** When the window closes, on the monotonic clock. */
  readonly closesAtMs: number;
  failures: number;
  /** Start of the second in which the checks of a spent budget are counted. */
  secondOpenedAtMs: number;
  checksInSecond: number;
}

/**
 * The budget of failed verifications: bounds the work an address can cause with forged tokens. An address that fails
 * nothing has no entry. Once its budget is spent, an address still gets a few checks a second until its window closes,
 * because honest clients with new tokens may share it.
 */
export class VerificationBudget implements FailureBudget {
  #options: BudgetOptions;
  readonly #clock: Clock;
  /** Windows in the order in which they opened, which is also the order in which they close. */
  readonly #counting = new Map<string, Window>();
  /** Windows of spent budgets. A map of its own, so that a flood of new addresses cannot push them out. */
  readonly #spent = new Map<string, Window>();

  constructor(options: BudgetOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  use(options: BudgetOptions): void {
    this.#options = options;
    for (const [address, window] of this.#spent) {
      if (window.failures >= options.limit) continue;
      this.#spent.delete(address);
      this.#counting.set(address, window);
    }
  }

  waitMs(address: string): number {
    const window = this.#spent.get(address);
    if (window === undefined) return 0;
    const nowMs = this.#clock.monotonicMs();
    if (this.#isClosed(window, nowMs)) return 0;
    if (nowMs - window.secondOpenedAtMs >= 1_000) {
      window.secondOpenedAtMs = nowMs;
      window.checksInSecond = 0;
    }
    if (window.checksInSecond >= this.#options.checksPerSecond) return window.closesAtMs - nowMs;
    window.checksInSecond += 1;
    return 0;
  }

  failed(address: string, checks: number): void {
    const nowMs = this.#clock.monotonicMs();
    const window = this.#openWindow(address, nowMs);
    window.failures += checks;
    if (window.failures < this.#options.limit || this.#spent.has(address)) return;
    window.secondOpenedAtMs = nowMs;
    this.#counting.delete(address);
    this.#put(this.#spent, address, window, nowMs);
  }

  #openWindow(address: string, nowMs: number): Window {
    const current = this.#spent.get(address) ?? this.#counting.get(address);
    if (current !== undefined && !this.#isClosed(current, nowMs)) return current;
    this.#spent.delete(address);
    // A map keeps the place of a key that is set again, so delete it first to move it to the end.
    this.#counting.delete(address);
    const closesAtMs = nowMs + this.#options.periodMs;
    const window = { closesAtMs, failures: 0, secondOpenedAtMs: nowMs, checksInSecond: 0 };
    this.#put(this.#counting, address, window, nowMs);
    return window;
  }

  #put(windows: Map<string, Window>, address: string, window: Window, nowMs: number): void {
    makeRoom(windows, this.#options.maxAddresses, old => this.#isClosed(old, nowMs));
    windows.set(address, window);
  }

  #isClosed(window: Window, nowMs: number): boolean {
    return nowMs >= window.closesAtMs - this.#options.slackMs;
  }
}

/** Enough to find out why one caller gets 401, and too few to cost anything. */
const CHECKS_PER_SECOND = 10;

/**
 * Bounds the signature checks that only find out whose refused token it is, for the log. One bound for all issuers and addresses,
 * apart from every budget.
 */
export class OwnerChecks {
  readonly #clock: Clock;
  /** When the last checks were made, by the monotonic clock; the oldest is at `#next`. */
  readonly #madeAtMs = new Float64Array(CHECKS_PER_SECOND).fill(Number.NEGATIVE_INFINITY);
  #next = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one more check and returns true, unless that would be too many. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#madeAtMs[this.#next] ?? 0) < 1_000) return false;
    this.#madeAtMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % CHECKS_PER_SECOND;
    return true;
  }
}
