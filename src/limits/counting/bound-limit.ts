import type { Words } from '../../core/index.ts';
import {
  type Counter,
  type CounterRule,
  copyCounter,
  followCalendar,
  type Moment,
  newCounter,
  RULES,
} from './counter.ts';
import { COUNTER_WORDS, type CounterTable, loadCounter, partitionOf, saveCounter } from './counter-table.ts';
import type { Limit } from './limit-definition.ts';
import { groupCounterKey, isSharedRole, unitsTaken } from './limit-definition.ts';
import { FIRST_NAMED_WORD } from './record-table.ts';

/**
 * Represents all main values beyond those that a caller may hold. Its counter belongs to that caller only, or to its network,
 * even for a resource limit. Never a real value, because no path contains a NUL.
 */
export const OTHER_PARTS = '\0';

// A keyspace's record has two overflow counters, each starting at an odd word.
const OVERFLOW_AT = FIRST_NAMED_WORD;
const TOKEN_OVERFLOW_AT = OVERFLOW_AT + COUNTER_WORDS + 1;
/** Words of a keyspace's record. */
export const KEYSPACE_WORDS = TOKEN_OVERFLOW_AT + COUNTER_WORDS;

const NO_ROW = -1;
const OVERFLOW = -2;
const UNUSED = newCounter();

/**
 * A limit with its counters, and its part in the decision at hand: it looks up the counter of a request, and consumes units once
 * all limits admit it. Each request overwrites what the last one found.
 */
export class BoundLimit {
  readonly limit: Limit;
  /**
   * Identifies the counters of one identity, across all configurations that include it. From 1 on. Determines the partition that
   * they are in (`partitionOf`).
   */
  readonly keyspace: number;
  /** The state of the key. */
  readonly counter: Counter = newCounter();
  /** How long this limit makes the request wait; 0 if it admits it. */
  waitMs = 0;
  readonly #rule: CounterRule;
  readonly #table: CounterTable;
  readonly #records: Words;
  readonly #start: number;
  /** Whether other callers consume units of this counter as well. */
  isShared = false;
  /** Whether this is the counter shared by a caller's further main values, or the stand-in for its network. */
  isOtherParts = false;
  /** If `isOtherParts`, the network whose stand-in this is; `null` for the counter of the caller. */
  standIn: string | null = null;
  /** The units that the request costs. */
  #cost = 1;
  #row = NO_ROW;
  #isNew = false;
  /** Whether the overflow counter is the one for callers with tokens. */
  #hasToken = true;

  /** @param start where the record of the keyspace begins */
  constructor(limit: Limit, keyspace: number, table: CounterTable, records: Words, start: number) {
    this.limit = limit;
    this.keyspace = keyspace;
    this.#rule = RULES[limit.algorithm];
    this.#table = table;
    this.#records = records;
    this.#start = start;
  }

  /** Looks up the counter of a request, and determines how long the request has to wait. Changes nothing. */
  look(caller: string, main: string, group: string, cost: number): void {
    const units = unitsTaken(this.limit, cost);
    this.lookAt(this.#senderOf(caller, main), this.#partOf(main, group), units);
  }

  /** Looks up one counter. `sender`: null if no caller in particular asks. */
  lookAt(sender: string | null, part: string, cost = 1): void {
    this.#cost = cost;
    this.isShared = isSharedRole(this.limit.role);
    this.isOtherParts = false;
    this.#isNew = false;
    const holder = this.isShared && part !== OTHER_PARTS ? null : sender;
    this.#row = this.#table.find(this.keyspace, holder, part);
    if (this.#row === NO_ROW) this.#joinOtherParts(sender, part);
    this.#load();
  }

  /** Creates the counter of a request that has none; if there is no room, uses the stand-in. Call it after `look`. */
  open(caller: string, main: string, group: string): void {
    if (this.#row !== NO_ROW) return;
    const sender = this.#senderOf(caller, main);
    const part = this.#partOf(main, group);
    // Another limit of this request may have taken the last counter that the caller may hold.
    if (!this.isOtherParts) this.#joinOtherParts(sender, part);
    if (this.#row === NO_ROW) {
      const holder = this.isShared ? null : sender;
      // The one counter of all callers is charged to no caller.
      const opener = part === '' ? holder : sender;
      this.#row = this.#table.open(this.keyspace, holder, this.isOtherParts ? OTHER_PARTS : part, opener);
      this.#isNew = this.#row !== NO_ROW;
      if (this.#isNew) return;
      this.#openWithoutRoom(opener);
    }
    this.#load();
  }

  /** The caller to whose share of the table a new counter counts; `null` if no caller in particular opens it. */
  #senderOf(caller: string, main: string): string | null {
    // Without a main value, no caller opened it: callers do not choose how many groups there are.
    return this.limit.role === 'group' && main === '' ? null : caller;
  }

  #partOf(main: string, group: string): string {
    if (this.limit.role === 'global') return '';
    return this.limit.role === 'group' ? groupCounterKey(group, main) : main;
  }

  /** Consumes what the request costs. Call it only if `waitMs` is 0. */
  commit(moment: Moment): void {
    this.#rule.consume(this.counter, this.limit, moment, this.#cost);
    this.#save();
  }

  /** Removes the counter created for a request that was refused. */
  undo(): void {
    if (this.#isNew) this.#table.close(this.#row);
  }

  /** Returns the cost of a request to the window it came from, if that is still open. */
  refund(window: number): void {
    if (this.#rule.refund(this.counter, this.limit, window, this.#table.nowMs, this.#cost)) this.#save();
  }

  drop(caller: string | null, part: string): void {
    const row = this.#table.find(this.keyspace, caller, part);
    if (row !== NO_ROW) this.#table.close(row);
  }

  /** Whether this is the overflow counter, which counts all keys that the table has no room for. */
  get isOverflow(): boolean {
    return this.#row === OVERFLOW;
  }

  /**
   * The window of the unit just consumed, for its return; 0 if it cannot be returned, or the counter is one of many values and
   * not priced.
   */
  get windowToReturn(): number {
    const { returnsUnits, isPriced } = this.limit;
    if (!returnsUnits || this.isOverflow || (this.isOtherParts && !isPriced)) return 0;
    return this.#rule.windowOf(this.counter, this.limit);
  }

  /** The Remaining to announce. */
  get remaining(): number {
    return this.#rule.remaining(this.counter, this.limit, this.#table.nowMs);
  }

  /** How long until the announced Reset. */
  get resetInMs(): number {
    return this.#rule.resetInMs(this.counter, this.limit, this.#table.nowMs);
  }

  /** Returns the Reset to announce. Saves a correction after a step of the wall clock: later responses announce the same time. */
  announce(moment: Moment): number {
    const { counter } = this;
    const before = counter.markMs;
    const resetAtMs = this.#rule.announce(counter, this.limit, moment);
    if (counter.markMs !== before) this.#save();
    return resetAtMs;
  }

  /**
   * Loads an overflow counter. There is one for callers with tokens and one for addresses, so that a flood of either does not
   * affect the other.
   */
  loadOverflow(counter: Counter, ofTokens: boolean): void {
    loadCounter(this.#records, this.#start + (ofTokens ? TOKEN_OVERFLOW_AT : OVERFLOW_AT), counter);
  }

  saveOverflow(counter: Counter, ofTokens: boolean): void {
    saveCounter(this.#records, this.#start + (ofTokens ? TOKEN_OVERFLOW_AT : OVERFLOW_AT), counter);
  }

  /** Switches to the counter of all further main values of the sender, if it may not hold another one. */
  #joinOtherParts(sender: string | null, part: string): void {
    if (sender === null || part === '' || !this.#table.hasAllParts(sender)) return;
    this.isShared = false;
    this.isOtherParts = true;
    this.standIn = null;
    this.#row = this.#table.find(this.keyspace, sender, OTHER_PARTS);
  }

  /** Switches to the counter that stands in for a network's callers or, if there is no room for it either, to the overflow counter. */
  #openWithoutRoom(opener: string | null): void {
    const standIn = opener === null ? null : this.#table.standInOf(opener);
    this.isShared = true;
    if (standIn !== null) {
      this.#row = this.#table.find(this.keyspace, standIn, OTHER_PARTS);
      this.#isNew = this.#row === NO_ROW;
      if (this.#isNew) this.#row = this.#table.openStandIn(this.keyspace, standIn, OTHER_PARTS);
      this.isOtherParts ||= this.#row !== NO_ROW;
      this.standIn = standIn;
    }
    if (this.#row !== NO_ROW) return;
    this.#isNew = false;
    this.#row = OVERFLOW;
    this.#hasToken = standIn === null;
    this.#table.partitions.countOverflow(partitionOf(this.keyspace));
  }

  #load(): void {
    if (this.#row >= 0) this.#table.load(this.#row, this.counter);
    else if (this.#row === OVERFLOW) this.loadOverflow(this.counter, this.#hasToken);
    else copyCounter(UNUSED, this.counter);
    const { nowMs, steadyOffsetMs } = this.#table;
    const { calendar } = this.limit;
    // Saved, so that the table keeps it until then.
    if (calendar !== null && followCalendar(this.counter, calendar, nowMs, steadyOffsetMs)) this.#save();
    this.waitMs = this.#rule.waitMs(this.counter, this.limit, nowMs, this.#cost);
  }

  #save(): void {
    if (this.#row >= 0) this.#table.save(this.#row, this.counter);
    else if (this.#row === OVERFLOW) this.saveOverflow(this.counter, this.#hasToken);
  }
}
