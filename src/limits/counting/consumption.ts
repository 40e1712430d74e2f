import { type Counter, copyCounter, type Moment, newCounter } from './counter.ts';
import type { CounterTable } from './counter-table.ts';
import type { ShadowDecision } from './decision.ts';
import type { LimitRole } from './limit-definition.ts';
import type { BoundLimit, BoundLimits } from './record-table.ts';

/**
 * Stands for all main values beyond those that a caller may hold. Its counter belongs to that caller alone, even if the limit is
 * that of a resource. It is never a real value, because no path contains a NUL.
 */
export const OTHER_PARTS = '\0';

const NO_ROW = -1;
const OVERFLOW = -2;

/** The part of one limit in a decision: looks its counter up, and consumes a unit if all limits admit. Reused for every request. */
export class Consumption {
  /** The state of the key; valid while `bound` is not null. */
  readonly counter: Counter = newCounter();
  bound: BoundLimit | null = null;
  /** How long this limit makes the request wait; 0 if it admits. */
  waitMs = 0;
  readonly #table: CounterTable;
  /** The caller that a new counter is counted for; `null` if there is none in particular. */
  #sender: string | null = null;
  /** The caller that the counter belongs to; `null` if all callers share it. */
  #caller: string | null = null;
  #part = '';
  #maxParts = 0;
  #row = NO_ROW;
  #isNew = false;

  constructor(table: CounterTable) {
    this.#table = table;
  }

  /** Whether this is the counter that stands in for keys without room. */
  get isOverflow(): boolean {
    return this.bound !== null && this.#row === OVERFLOW;
  }

  /** Whether this is the counter of the main values beyond those that the caller, or its network, may hold. */
  get isOtherParts(): boolean {
    return this.bound !== null && this.#part === OTHER_PARTS;
  }

  /** Whether other callers consume units of this counter, too. */
  get isShared(): boolean {
    return this.#row === OVERFLOW || this.#caller !== this.#sender;
  }

  /** Whether a unit taken from it can be returned: a counter of many values does not tell whose it was. */
  get isOfOneValue(): boolean {
    return !this.isOverflow && !this.isOtherParts;
  }

  /** Looks up the key's counter and how long the request has to wait. Changes nothing. */
  look(bound: BoundLimit | null, sender: string | null, part: string, maxParts: number, nowMs: number): void {
    this.bound = bound;
    this.waitMs = 0;
    if (bound === null) return;
    const { keyspace, limit } = bound;
    this.#sender = sender;
    this.#caller = limit.role === 'resource' ? null : sender;
    this.#part = part;
    this.#maxParts = maxParts;
    this.#isNew = false;
    this.#row = this.#table.find(keyspace.number, this.#caller, part);
    if (this.#row === NO_ROW) this.#joinOtherParts(keyspace.number);
    this.#load(bound, nowMs);
  }

  /** Creates a counter for a key that has none; if there is no room, uses the stand-in. */
  openCounter(nowMs: number): void {
    const { bound } = this;
    if (bound === null || this.#row !== NO_ROW) return;
    const { keyspace, rule, limit } = bound;
    // Another limit of this request may have taken the last counter that the caller may hold.
    if (!this.isOtherParts && this.#joinOtherParts(keyspace.number) && this.#row !== NO_ROW) {
      this.#load(bound, nowMs);
      return;
    }
    this.#row = this.#table.open(keyspace, this.#caller, this.#part, this.#caller ?? this.#sender);
    if (this.#row !== NO_ROW) {
      this.#isNew = true;
      return;
    }
    this.#row = OVERFLOW;
    keyspace.partition.overflows++;
    copyCounter(keyspace.overflow, this.counter);
    this.waitMs = rule.waitMs(this.counter, limit, nowMs);
  }

  /** Consumes a unit. Call it only if `waitMs` is 0. */
  commit(moment: Moment): void {
    if (this.bound === null) return;
    this.bound.rule.consume(this.counter, this.bound.limit, moment);
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

  /** Moves to the counter of all further main values of the sender, or of its network, if that may not hold one more. */
  #joinOtherParts(keyspace: number): boolean {
    const sender = this.#sender;
    if (sender === null || this.#part === '') return false;
    const sharer = this.#table.sharerFor(sender, this.#maxParts);
    if (sharer === null) return false;
    this.#caller = sharer;
    this.#part = OTHER_PARTS;
    this.#row = this.#table.find(keyspace, sharer, OTHER_PARTS);
    return true;
  }

  #load({ rule, limit }: BoundLimit, nowMs: number): void {
    if (this.#row === NO_ROW) copyCounter(UNUSED, this.counter);
    else this.#table.load(this.#row, this.counter);
    this.waitMs = rule.waitMs(this.counter, limit, nowMs);
  }

  save(): void {
    if (this.#row >= 0) this.#table.save(this.#row, this.counter);
    else if (this.bound !== null && this.#row === OVERFLOW)
      copyCounter(this.counter, this.bound.keyspace.overflow);
  }
}

const UNUSED = newCounter();

/** Decides the limits in shadow of an admitted request, each by itself: where one refuses, the others still count the request. */
export class ShadowConsumption {
  readonly #table: CounterTable;
  /** Serves one limit after the other. */
  readonly #consumption: Consumption;

  constructor(table: CounterTable) {
    this.#table = table;
    this.#consumption = new Consumption(table);
  }

  decide(
    { global, caller: own, resource }: BoundLimits,
    caller: string,
    main: string,
    maxParts: number,
    moment: Moment,
  ): ShadowDecision {
    const refused: LimitRole[] = [];
    if (!this.#admits(global, caller, '', maxParts, moment)) refused.push('global');
    if (!this.#admits(own, caller, main, maxParts, moment)) refused.push('caller');
    if (!this.#admits(resource, caller, main, maxParts, moment)) {
      refused.push('resource');
      return { refused, resourceWindow: 0 };
    }
    const isRefundable = resource !== null && this.#consumption.isOfOneValue;
    return { refused, resourceWindow: isRefundable ? resource.rule.windowOf(this.#consumption.counter) : 0 };
  }

  /** Consumes a unit if the limit admits. */
  #admits(bound: BoundLimit | null, caller: string, part: string, maxParts: number, moment: Moment): boolean {
    if (bound === null) return true;
    const consumption = this.#consumption;
    // Releases the records of the limit before.
    this.#table.begin(moment.nowMs);
    consumption.look(bound, caller, part, maxParts, moment.nowMs);
    if (consumption.waitMs > 0) return false;
    consumption.openCounter(moment.nowMs);
    if (consumption.waitMs > 0) return false;
    consumption.commit(moment);
    return true;
  }
}
