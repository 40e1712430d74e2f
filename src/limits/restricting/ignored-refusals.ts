import type { Clock } from '../../core/index.ts';
import { CounterTable, Keyspaces, type Limit, newCounter, newPartition } from '../counting/index.ts';
import {
  DEFAULT_MAX_EVENT_KEYS,
  type EventCounterOptions,
  OffenceCounter,
  type OffenceCounterOptions,
  type OffenceRule,
} from './offence-counter.ts';
import type { Restrictions } from './restrictions.ts';

/** A client may have had several requests in flight when the first was refused. Milliseconds. */
const IN_FLIGHT_MS = 1_000;
/** For waits no longer than that, this share of the wait: otherwise nothing would stop a flood on a bucket with short waits. */
const IN_FLIGHT_PART = 0.5;
/** No smooth limit announces a shorter wait. */
const MIN_STEP_MS = 2;

/** Remembers, for each key of a limit, when it first refused and until when it announced a wait. Bounded; evicts when full. */
class RefusalMemory {
  readonly #clock: Clock;
  readonly #table: CounterTable;
  /** All refusals compete for one room: a refusal that is forgotten excuses its caller, and harms nobody. */
  readonly #partition = newPartition('', 'caller');
  readonly #keyspaces = new Keyspaces(() => this.#partition);
  readonly #refusal = newCounter();
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor({ clock, maxKeys = DEFAULT_MAX_EVENT_KEYS }: EventCounterOptions) {
    this.#clock = clock;
    this.#table = new CounterTable(maxKeys);
  }

  /** Excuses everyone from the waits announced so far. */
  forget(): void {
    this.#forgottenAtMs = Math.floor(this.#clock.monotonicMs());
  }

  /** Notes a refusal. Returns true if the caller ignored an earlier one of the same key (docs/contract.md, 5.4). */
  note(limit: Limit, caller: string, main: string, waitMs: number): boolean {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    this.#table.begin(nowMs);
    const { keyspace } = this.#keyspaces.bind(limit);
    const part = limit.role === 'global' ? '' : main;
    const row = this.#table.find(keyspace.number, caller, part);
    const stepMs = stepOf(limit);
    const refusal = this.#refusal;
    let firstMs = nowMs;
    if (row >= 0) {
      this.#table.load(row, refusal);
      // `markMs` is when the key first refused, `resetMs` one step after the end of the wait announced last, and `count` is 1
      // once that wait was ignored.
      const { markMs, resetMs, count } = refusal;
      const isExcused = markMs <= this.#forgottenAtMs;
      if (!isExcused && nowMs < resetMs - stepMs) {
        const toldAtMs = stepMs === 0 ? markMs : resetMs - 2 * stepMs;
        if (nowMs - toldAtMs <= inFlightMs(limit)) return false;
        refusal.count = 1;
        this.#table.save(row, refusal);
        return stepMs === 0 || nowMs - markMs > IN_FLIGHT_MS;
      }
      // A smooth limit admits one request a step, which does not make up for a wait that was ignored.
      if (!isExcused && count === 1 && nowMs < resetMs) firstMs = markMs;
    }
    refusal.markMs = firstMs;
    // A client that comes within the slack is not early.
    refusal.resetMs = nowMs + waitMs - limit.slackMs + stepMs;
    refusal.count = 0;
    const kept = row >= 0 ? row : this.#table.open(keyspace, caller, part);
    if (kept >= 0) this.#table.save(kept, refusal);
    return false;
  }
}

/** The time between two admissions of a bucket's smooth limit whose burst is used up; 0 for other limits. */
function stepOf({ role, algorithm, periodMs, units }: Limit): number {
  return role === 'caller' && algorithm === 'smooth' ? Math.max(MIN_STEP_MS, periodMs / units) : 0;
}

/** How far into a wait further requests are excused. Global refusals count as invalid requests anyway. */
function inFlightMs(limit: Limit): number {
  if (limit.role !== 'caller') return IN_FLIGHT_MS;
  return Math.min(IN_FLIGHT_MS, (stepOf(limit) || limit.periodMs) * IN_FLIGHT_PART);
}

/** A request that was refused. */
interface Refusal {
  /** Key of the client's address. */
  readonly address: string;
  /** The principal of the caller; `null` if the caller counts as its address. */
  readonly principal: string | null;
  /** The limit that refused, and the main value that it was asked for, or `OTHER_PARTS`. */
  readonly limit: Limit;
  readonly main: string;
  /** The wait announced in the response. */
  readonly waitMs: number;
}

export interface IgnoredRefusalsRule extends OffenceRule {
  /** Whether callers identified by address can be restricted, and with them everyone behind that address. */
  readonly addresses: boolean;
}

/**
 * Counts requests of callers that ignore the announced wait: refused again by the same key of a limit, more than a second
 * after its first refusal and before the wait is over. Restricts the caller past the threshold (docs/contract.md, 5.4).
 */
export class IgnoredRefusals extends OffenceCounter<IgnoredRefusalsRule> {
  readonly #memory: RefusalMemory;

  constructor(restrictions: Restrictions, options: OffenceCounterOptions) {
    super(restrictions, 'ignored_refusals', options);
    this.#memory = new RefusalMemory(options);
  }

  /** Excuses everyone from the waits announced so far. Call it when an operator has given somebody a fresh allowance. */
  forgetWaits(): void {
    this.#memory.forget();
  }

  /**
   * Call this for refusals by a key of the caller's own: its global limit or its limit in a bucket (also a shared bucket). Not
   * for a decision with `sharedKey`: that key may have refused another caller first.
   */
  note({ address, principal, limit, main, waitMs }: Refusal): void {
    const { rule } = this;
    if (rule === null || (principal === null && !rule.addresses) || this.isExempt(address)) return;
    const caller = principal ?? address;
    if (!this.#memory.note(limit, caller, main, waitMs)) return;
    this.count(principal === null ? 'address' : 'principal', caller, '');
  }
}
