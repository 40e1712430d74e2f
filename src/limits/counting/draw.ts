import { type Counter, copyCounter, newCounter } from './counter.ts';
import type { CounterTable } from './counter-table.ts';
import type { Moment } from './moment.ts';
import type { BoundLimit } from './spaces.ts';

/** The part shared by all main values beyond those that a caller may hold. Never a real value: no path contains a NUL. */
export const OTHER_PARTS = '\0';

const NO_ROW = -1;
const OVERFLOW = -2;

/** One limit's share of a decision. Created once and reused for every request. */
export class Draw {
  /** The state of the key; valid while `bound` is not null. */
  readonly counter: Counter = newCounter();
  bound: BoundLimit | null = null;
  /** How long this limit makes the request wait; 0 if it admits. */
  waitMs = 0;
  readonly #table: CounterTable;
  #caller: string | null = null;
  #part = '';
  #row = NO_ROW;
  #isNew = false;

  constructor(table: CounterTable) {
    this.#table = table;
  }

  /** Whether this is the counter that stands in for keys without room. */
  get isOverflow(): boolean {
    return this.bound !== null && this.#row === OVERFLOW;
  }

  /** Whether this is the counter of the main values beyond those that the caller may hold. */
  get isOtherParts(): boolean {
    return this.bound !== null && this.#part === OTHER_PARTS;
  }

  /** Looks up the key's counter and how long the request has to wait. Changes nothing. */
  look(bound: BoundLimit | null, caller: string | null, part: string, maxParts: number, nowMs: number): void {
    this.bound = bound;
    this.waitMs = 0;
    if (bound === null) return;
    this.#caller = caller;
    this.#part = part;
    this.#isNew = false;
    this.#row = this.#table.find(bound.space.number, caller, part);
    if (this.#row === NO_ROW && part !== '' && caller !== null && this.#table.partsOf(caller) >= maxParts) {
      this.#part = OTHER_PARTS;
      this.#row = this.#table.find(bound.space.number, caller, OTHER_PARTS);
    }
    if (this.#row === NO_ROW) copyCounter(NOTHING_DRAWN, this.counter);
    else this.#table.load(this.#row, this.counter);
    this.waitMs = bound.rule.waitMs(this.counter, bound.limit, nowMs);
  }

  /** Creates a counter for a key that has none; if there is no room, uses the stand-in. */
  settle(nowMs: number): void {
    if (this.bound === null || this.#row !== NO_ROW) return;
    const { space, rule, limit } = this.bound;
    this.#row = this.#table.open(space.number, this.#caller, this.#part);
    if (this.#row !== NO_ROW) {
      this.#isNew = true;
      return;
    }
    this.#row = OVERFLOW;
    copyCounter(space.overflow, this.counter);
    this.waitMs = rule.waitMs(this.counter, limit, nowMs);
  }

  commit(moment: Moment): void {
    if (this.bound === null) return;
    this.bound.rule.draw(this.counter, this.bound.limit, moment);
    this.save();
  }

  /** Returns a unit to the window that it came from, if that is still open. */
  refund(window: number, nowMs: number): void {
    if (this.bound === null || this.#row === NO_ROW) return;
    if (this.bound.rule.refund(this.counter, this.bound.limit, window, nowMs)) this.save();
  }

  /** The request was refused: removes the counter that was created for it. */
  undo(): void {
    if (this.bound !== null && this.#isNew) this.#table.close(this.#row);
  }

  save(): void {
    if (this.#row >= 0) this.#table.save(this.#row, this.counter);
    else if (this.bound !== null && this.#row === OVERFLOW)
      copyCounter(this.counter, this.bound.space.overflow);
  }
}

const NOTHING_DRAWN = newCounter();
