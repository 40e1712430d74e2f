import {
  type Clock,
  MAIN_THREAD,
  ownMemory,
  type RandomBytes,
  type TableMemory,
  type Words,
} from '../../core/index.ts';
import type { OwnersOf } from './caller-table.ts';
import { type Counter, copyCounter, MOMENT_FLOATS, Moment, newCounter } from './counter.ts';
import { CounterTable, partitionOf } from './counter-table.ts';
import type {
  Allowance,
  AllowanceReading,
  AllowanceStore,
  CountedIn,
  Decision,
  LimitStore,
  ShadowDecision,
} from './decision.ts';
import { NO_SHADOW, UNLIMITED } from './decision.ts';
import { AT_ONCE_WAIT_MS, type InFlight, ProcessInFlight } from './in-flight.ts';
import { KeptCounters } from './kept-counters.ts';
import { type BoundLimit, type BoundLimits, type BoundSet, Keyspaces } from './keyspaces.ts';
import type { Limit, LimitRole, LimitSet } from './limit-definition.ts';
import { groupCounterKey, isSharedRole } from './limit-definition.ts';
import type { PartitionCounts } from './partitions.ts';

interface MemoryAllowancesDependencies {
  readonly memory: TableMemory;
  readonly readClock: (moment: Moment) => void;
  readonly table: CounterTable;
  readonly keyspaces: Keyspaces;
  readonly noteChange: () => void;
  readonly keysPerCaller: () => number;
  readonly inFlight: InFlight;
}

/** Immediate in private memory; in shared memory a promise that resolves once no other thread holds the lock. */
type Now<T> = T | Promise<T>;

/** Shows and resets the counters of a memory store. */
class MemoryAllowances implements AllowanceStore {
  readonly #dependencies: MemoryAllowancesDependencies;
  readonly #consumption: Consumption;
  readonly #moment = new Moment();

  constructor(dependencies: MemoryAllowancesDependencies) {
    this.#dependencies = dependencies;
    this.#consumption = new Consumption(dependencies.table);
  }

  read(
    limits: readonly Limit[],
    caller: string,
    main: string,
    concurrent: readonly Limit[] = [],
  ): Now<AllowanceReading> {
    return this.#change(() => {
      const { readClock, inFlight } = this.#dependencies;
      readClock(this.#moment);
      return {
        countedIn: 'memory',
        allowances: limits.map(limit => this.#allowanceOf(limit, caller, main)),
        inFlight: concurrent.map(limit => inFlight.count(limit, caller, main)),
      };
    });
  }

  reset(limits: readonly Limit[], caller: string, main: string | null): Now<CountedIn> {
    return this.#change(() => {
      const { readClock, table, keyspaces } = this.#dependencies;
      readClock(this.#moment);
      const ofEveryValue = new Set<number>();
      for (const limit of limits) {
        const { number } = keyspaces.bind(limit).keyspace;
        const [who, part] = keyOf(limit, caller, main ?? '');
        if (limit.role === 'caller' && main === null) ofEveryValue.add(number);
        else this.#drop(number, who, part);
        if (isSharedRole(limit.role)) continue;
        // The caller may hold the maximum of values: further ones share a counter. Or its network had no room for one.
        this.#drop(number, caller, OTHER_PARTS);
        const standIn = table.standInOf(caller);
        if (standIn !== null) this.#drop(number, standIn, OTHER_PARTS);
      }
      if (ofEveryValue.size > 0) table.release(ofEveryValue, caller);
      this.#dependencies.noteChange();
      return 'memory';
    });
  }

  #change<T>(run: () => T): Now<T> {
    const { memory } = this.#dependencies;
    return memory.isShared ? memory.soon(run) : run();
  }

  #allowanceOf(limit: Limit, caller: string, main: string): Allowance {
    const { table, keyspaces, keysPerCaller } = this.#dependencies;
    const consumption = this.#consumption;
    const bound = keyspaces.bind(limit);
    const { nowMs } = this.#moment;
    table.begin(nowMs);
    const [who, part] = keyOf(limit, caller, main);
    consumption.look(bound, who, part, keysPerCaller(), nowMs);
    const { counter, waitMs } = consumption;
    return {
      units: limit.units,
      remaining: bound.rule.remaining(counter, limit, nowMs),
      resetAtMs: bound.rule.announce(counter, limit, this.#moment),
      waitMs,
    };
  }

  #drop(keyspace: number, caller: string | null, part: string): void {
    const { table } = this.#dependencies;
    table.begin(this.#moment.nowMs);
    const row = table.find(keyspace, caller, part);
    if (row >= 0) table.close(row);
  }
}

/** The caller and the part under which a limit counts. */
function keyOf({ role }: Limit, caller: string, main: string): readonly [string | null, string] {
  if (isSharedRole(role)) return [null, main];
  return [caller, role === 'global' ? '' : main];
}

/**
 * Represents all main values beyond those that a caller may hold. Its counter belongs to that caller only, or to its network,
 * even for a resource limit. Never a real value, because no path contains a NUL.
 */
export const OTHER_PARTS = '\0';

const NO_ROW = -1;
const OVERFLOW = -2;

/** One limit's part in a decision: looks up its counter, and consumes a unit if all limits admit. Reused for every request. */
export class Consumption {
  /** The state of the key; valid while `bound` is not null. */
  readonly counter: Counter = newCounter();
  bound: BoundLimit | null = null;
  /** How long this limit makes the request wait; 0 if it admits it. */
  waitMs = 0;
  /** The units that the request costs. */
  cost = 1;
  readonly #table: CounterTable;
  /** The caller to whose share of the table a new counter counts; `null` if no caller in particular opened it. */
  #sender: string | null = null;
  /** The caller that the counter belongs to; `null` if callers share it. */
  #caller: string | null = null;
  #part = '';
  #maxParts = 0;
  #row = NO_ROW;
  #isNew = false;
  /** Whether the overflow counter is the one for callers with tokens. */
  #hasToken = true;

  constructor(table: CounterTable) {
    this.#table = table;
  }

  /** Whether this is the overflow counter, which counts all keys that the table has no room for. */
  get isOverflow(): boolean {
    return this.bound !== null && this.#row === OVERFLOW;
  }

  /** Whether this is the counter shared by a caller's further main values, or the stand-in for its network. */
  get isOtherParts(): boolean {
    return this.bound !== null && this.#part === OTHER_PARTS;
  }

  /** Whether other callers consume units of this counter as well. */
  get isShared(): boolean {
    return this.#row === OVERFLOW || this.#caller === null || this.#caller !== this.#sender;
  }

  /** The window of the unit just consumed, for its return; 0 if there is none, or if the counter is one of many values. */
  get windowToReturn(): number {
    const { bound } = this;
    return bound === null || this.isOverflow || this.isOtherParts ? 0 : bound.rule.windowOf(this.counter);
  }

  /** Looks up the key's counter and determines how long the request has to wait. Changes nothing. */
  look(
    bound: BoundLimit | null,
    sender: string | null,
    part: string,
    maxParts: number,
    nowMs: number,
    cost = 1,
  ): void {
    this.bound = bound;
    this.waitMs = 0;
    this.cost = cost;
    if (bound === null) return;
    const { keyspace, limit } = bound;
    this.#sender = sender;
    this.#caller = isSharedRole(limit.role) ? null : sender;
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
    if (!this.isOtherParts) this.#joinOtherParts(keyspace.number);
    if (this.#row !== NO_ROW) {
      this.#load(bound, nowMs);
      return;
    }
    // Nobody in particular opens the one counter of all callers.
    const opener = this.#part === '' ? this.#caller : (this.#caller ?? this.#sender);
    this.#row = this.#table.open(keyspace.number, this.#caller, this.#part, opener);
    if (this.#row !== NO_ROW) {
      this.#isNew = true;
      return;
    }
    const standIn = opener === null ? null : this.#table.standInOf(opener);
    this.#hasToken = standIn === null;
    if (standIn !== null && this.#standIn(keyspace.number, standIn)) {
      this.#load(bound, nowMs);
      return;
    }
    this.#row = OVERFLOW;
    this.#table.partitions.countOverflow(partitionOf(keyspace.number));
    keyspace.loadOverflow(this.counter, this.#hasToken);
    this.waitMs = rule.waitMs(this.counter, limit, nowMs, this.cost);
  }

  /** Switches to the counter that stands in for a network's callers. Returns false if there is no room for it either. */
  #standIn(keyspace: number, standIn: string): boolean {
    const found = this.#table.find(keyspace, standIn, OTHER_PARTS);
    const at = found === NO_ROW ? this.#table.openStandIn(keyspace, standIn, OTHER_PARTS) : found;
    if (at === NO_ROW) return false;
    this.#isNew = found === NO_ROW;
    this.#caller = standIn;
    this.#part = OTHER_PARTS;
    this.#row = at;
    return true;
  }

  /** Consumes what the request costs. Call it only if `waitMs` is 0. */
  commit(moment: Moment): void {
    if (this.bound === null) return;
    this.bound.rule.consume(this.counter, this.bound.limit, moment, this.cost);
    this.save();
  }

  /** Returns the cost of a request to the window it came from, if that is still open. */
  refund(window: number, nowMs: number): void {
    if (this.bound === null) return;
    if (this.bound.rule.refund(this.counter, this.bound.limit, window, nowMs, this.cost)) this.save();
  }

  /** Removes the counter created for a request that was refused. */
  undo(): void {
    if (this.bound !== null && this.#isNew) this.#table.close(this.#row);
  }

  /** Switches to the counter of all further main values of the sender, if it may not hold another one. */
  #joinOtherParts(keyspace: number): void {
    const sender = this.#sender;
    if (sender === null || this.#part === '' || !this.#table.hasAllParts(sender, this.#maxParts)) return;
    this.#caller = sender;
    this.#part = OTHER_PARTS;
    this.#row = this.#table.find(keyspace, sender, OTHER_PARTS);
  }

  #load({ rule, limit }: BoundLimit, nowMs: number): void {
    if (this.#row === NO_ROW) copyCounter(UNUSED, this.counter);
    else this.#table.load(this.#row, this.counter);
    this.waitMs = rule.waitMs(this.counter, limit, nowMs, this.cost);
  }

  save(): void {
    if (this.#row >= 0) this.#table.save(this.#row, this.counter);
    else if (this.#row === OVERFLOW) this.bound?.keyspace.saveOverflow(this.counter, this.#hasToken);
  }
}

const UNUSED = newCounter();

/** Decides the shadow limits of an admitted request, each on its own: if one refuses, the others still count the request. */
class ShadowConsumption {
  readonly #table: CounterTable;
  /** Used for one limit after the other. */
  readonly #consumption: Consumption;

  constructor(table: CounterTable) {
    this.#table = table;
    this.#consumption = new Consumption(table);
  }

  decide(
    { global, caller: own, group: ofGroup, resource }: BoundLimits,
    caller: string,
    main: string,
    group: string,
    cost: number,
    maxParts: number,
    moment: Moment,
  ): ShadowDecision {
    const refused: LimitRole[] = [];
    let groupWindow = 0;
    let resourceWindow = 0;
    if (!this.#admits(global, caller, '', 1, maxParts, moment)) refused.push('global');
    if (!this.#admits(own, caller, main, cost, maxParts, moment)) refused.push('caller');
    if (ofGroup !== null) {
      const opener = main === '' ? null : caller;
      const part = groupCounterKey(group, main);
      if (!this.#admits(ofGroup, opener, part, cost, maxParts, moment)) refused.push('group');
      else groupWindow = this.#consumption.windowToReturn;
    }
    if (resource !== null) {
      if (!this.#admits(resource, caller, main, cost, maxParts, moment)) refused.push('resource');
      else resourceWindow = this.#consumption.windowToReturn;
    }
    return { refused, groupWindow, resourceWindow };
  }

  /** Consumes what the request costs if the limit admits. */
  #admits(
    bound: BoundLimit | null,
    caller: string | null,
    part: string,
    cost: number,
    maxParts: number,
    moment: Moment,
  ): boolean {
    if (bound === null) return true;
    const consumption = this.#consumption;
    // Releases the records of the previous limit.
    this.#table.begin(moment.nowMs);
    consumption.look(bound, caller, part, maxParts, moment.nowMs, cost);
    if (consumption.waitMs > 0) return false;
    consumption.openCounter(moment.nowMs);
    if (consumption.waitMs > 0) return false;
    consumption.commit(moment);
    return true;
  }
}

export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Makes the secret keys by which names are hashed. */
  readonly randomBytes: RandomBytes;
  /** Where the counters are stored. Default: in memory of this thread. */
  readonly memory?: TableMemory | undefined;
  /** Identifies the store in shared memory. Default `limits`. */
  readonly name?: string;
  /** Maximum keys held, at 85 to 100 bytes each. Default 1,000,000. */
  readonly maxKeys?: number;
  /** Maximum limits whose keys are held at the same time, twice those of one configuration. Default: by `maxKeys`, 8,192 or more. */
  readonly maxKeyspaces?: number;
  /**
   * Maximum keys for main values that one caller holds, including shared ones that it opened; further values share one. Default
   * 4,096.
   */
  readonly keysPerCaller?: number;
  /**
   * The owners of a caller, the smallest first. Callers of one network may hold a sixteenth of each part of the room, and those
   * of the largest owner a quarter; further ones share a counter. Default: none.
   */
  readonly ownersOf?: OwnersOf | undefined;
  /** Counts the requests in flight. Default: those of this process. */
  readonly inFlight?: InFlight | undefined;
}

/** What a store holds, and how often it ran out of room since startup. */
export interface StoreCounts {
  readonly keys: number;
  readonly callers: number;
  /** Keys evicted before their Reset, so that consumed units are forgotten. Alert on this. */
  readonly evictions: number;
  /** Requests beyond the maximum of their caller or its network, decided by the key shared for those. */
  readonly callerOverflows: number;
  /** Decisions by the overflow counters of partitions, which count all keys without room. Alert on this. */
  readonly sharedOverflows: number;
  /** What each partition of the current configuration holds, and how often it ran out of room. */
  readonly partitions: readonly PartitionCounts[];
}

/** Rows checked per sweep: a fraction of a millisecond. */
const ROWS_PER_TICK = 10_000;
/** Rows checked at a time if others are waiting meanwhile. */
const SHARED_ROWS = 250;

// A float outside the table: requests for main values beyond their caller's maximum.
const CALLER_OVERFLOWS = 0;
/** Where the time of the last decision and its offsets begin. */
const MOMENT = 1;
const FLOATS = MOMENT + MOMENT_FLOATS;
// Integers after the floats.
/** Counts changes, and may wrap around; 0 while nobody needs it, since counting makes a decision a tenth dearer. */
const CHANGES = FLOATS * 2;
const WORDS = CHANGES + 2;

type Numbers = { -readonly [Name in keyof Decision]: Decision[Name] };

/** A store whose counters are on this machine, in one process or shared by several threads. */
export type LocalStore = Pick<MemoryStore, keyof MemoryStore>;

/**
 * Counts in this process, in this thread or in several that share the memory. Answers synchronously, always with the same object,
 * valid until the next call.
 *
 * In shared memory each decision is atomic (`TableMemory.whole`), and time never goes back from one decision to the next,
 * whichever threads make them.
 */
export class MemoryStore implements LimitStore {
  /** Shows and resets counters. */
  readonly allowances: Pick<MemoryAllowances, keyof MemoryAllowances>;
  /** Saves counters, to be kept across a restart. */
  readonly kept: Pick<KeptCounters, keyof KeptCounters>;
  /** The requests in flight, wherever their limits are counted. */
  readonly inFlight: InFlight;
  readonly #clock: Clock;
  readonly #memory: TableMemory;
  readonly #table: CounterTable;
  readonly #keyspaces: Keyspaces;
  readonly #words: Words;
  readonly #moment = new Moment();
  readonly #global: Consumption;
  readonly #caller: Consumption;
  readonly #group: Consumption;
  readonly #resource: Consumption;
  readonly #shadow: ShadowConsumption;
  readonly #decision: Numbers = { ...UNLIMITED };
  #keysPerCaller: number;
  #isSweeping = false;

  constructor(options: MemoryStoreOptions) {
    this.inFlight = options.inFlight ?? new ProcessInFlight();
    this.#clock = options.clock;
    const { name = 'limits', memory = ownMemory(options.randomBytes) } = options;
    this.#memory = memory;
    this.#table = new CounterTable(
      memory,
      name,
      options.maxKeys ?? 1_000_000,
      options.ownersOf,
      options.maxKeyspaces,
    );
    this.#keyspaces = new Keyspaces(memory, name, this.#table);
    this.#words = memory.words(`${name} moments`, WORDS);
    this.#keysPerCaller = options.keysPerCaller ?? 4_096;
    const readClock = (moment: Moment) => this.#readClock(moment);
    const tables = { table: this.#table, keyspaces: this.#keyspaces };
    this.kept = new KeptCounters({
      ...{ memory, readClock, ...tables, moment: this.#moment },
      changes: () => this.#words.ints[CHANGES] ?? 0,
      countChanges: () => this.#words.set(CHANGES, 1),
    });
    this.allowances = new MemoryAllowances({
      ...{ memory, readClock, ...tables },
      noteChange: () => this.#noteChange(),
      keysPerCaller: () => this.#keysPerCaller,
      inFlight: this.inFlight,
    });
    this.#global = new Consumption(this.#table);
    this.#caller = new Consumption(this.#table);
    this.#group = new Consumption(this.#table);
    this.#resource = new Consumption(this.#table);
    this.#shadow = new ShadowConsumption(this.#table);
  }

  get counts(): StoreCounts {
    const { partitions } = this.#table;
    const { evictions, overflows } = partitions.totals;
    return {
      keys: this.#table.size,
      callers: this.#table.callers,
      evictions,
      callerOverflows: this.#words.floats[CALLER_OVERFLOWS] ?? 0,
      sharedOverflows: overflows,
      partitions: partitions.counts,
    };
  }

  /** Counts a request for a main value beyond the caller's maximum. */
  countCallerOverflow(): void {
    this.#memory.whole(() => this.#words.addFloat(CALLER_OVERFLOWS, 1));
  }

  /**
   * Divides the room among these limits, so that none takes what another needs. Call it again after a reload. Throws an error,
   * and changes nothing, if there are too many (`mostLimits`).
   */
  share(limits: Iterable<Limit>): void {
    const all = [...limits];
    this.#keyspaces.check(all);
    if (this.#memory.isShared && this.#memory.worker === MAIN_THREAD)
      void this.#memory.soon(() => this.#keyspaces.share(all));
    else this.#memory.whole(() => this.#keyspaces.share(all));
  }

  /** Reads the clock, and returns what `decidedAtMs` would be now. */
  nowMs(): number {
    return this.#readMoment().steadyEpochMs;
  }

  /** A reload may change this number; callers keep the keys they hold. */
  set keysPerCaller(max: number) {
    this.#keysPerCaller = max;
  }

  decide(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision {
    if (!this.#memory.isShared) return this.#decide(limits, caller, main, group, cost);
    return this.#memory.whole(() => this.#decide(limits, caller, main, group, cost));
  }

  peek(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision {
    return this.#memory.whole(() => this.#peek(limits, caller, main, group, cost));
  }

  refund(limit: Limit, part: string, window: number, cost = 1): void {
    this.#memory.whole(() => this.#refund(limit, part, window, cost));
  }

  /** Forgets the units that one key has consumed. `main`: '' for a global limit. */
  reset(limit: Limit, caller: string, main: string): void {
    this.#memory.whole(() => this.#reset(limit, caller, main));
  }

  /**
   * Cleans a bounded number of rows. Call it a few times per second so that an idle gateway cleans up as well. In shared memory
   * the main thread does it for all.
   */
  sweep(): void {
    if (!this.#memory.isShared) this.#sweep(ROWS_PER_TICK);
    else if (this.#memory.worker === MAIN_THREAD && !this.#isSweeping) void this.#sweepShared();
  }

  async #sweepShared(): Promise<void> {
    this.#isSweeping = true;
    for (let rows = 0; rows < ROWS_PER_TICK; rows += SHARED_ROWS)
      await this.#memory.soon(() => this.#sweep(SHARED_ROWS));
    this.#isSweeping = false;
  }

  #sweep(rows: number): void {
    this.#readClock(this.#moment);
    this.#table.sweep(this.#moment.nowMs, rows);
  }

  /** Call it within a change, because it stores the time for other threads. */
  #readClock(moment: Moment): void {
    if (this.#memory.isShared) moment.readAfter(this.#clock, this.#words, MOMENT);
    else moment.read(this.#clock);
  }

  /** Reads the clock outside decisions: never earlier than the last decision, so that logs are in the order of events. */
  #readMoment(): Moment {
    const moment = this.#moment;
    if (this.#memory.isShared) moment.follow(this.#words, MOMENT);
    moment.read(this.#clock, moment.nowMs);
    return moment;
  }

  #decide(limits: LimitSet, caller: string, main: string, group: string, cost: number): Decision {
    // 1. Read the clock once: everything in one response refers to one moment.
    this.#readClock(this.#moment);
    const { nowMs } = this.#moment;
    this.#table.begin(nowMs);
    // 2. Look up the keys. A refusal found here creates no new key.
    const bound = this.#keyspaces.bindSet(limits);
    this.#look(bound, caller, main, group, cost);
    const { concurrent } = limits;
    if (!this.#isRefused()) {
      if (concurrent !== null && this.inFlight.isFull(concurrent, caller, main)) return this.#refuseAtOnce();
      // 3. Create missing keys. If there is no room, the overflow counter decides, and may refuse.
      this.#global.openCounter(nowMs);
      this.#caller.openCounter(nowMs);
      this.#group.openCounter(nowMs);
      this.#resource.openCounter(nowMs);
      if (this.#isRefused()) this.#undo();
    }
    this.#countOtherParts();
    if (this.#isRefused()) return this.#refuse();
    // 4. All limits admit: consume the request's cost.
    this.#global.commit(this.#moment);
    this.#caller.commit(this.#moment);
    this.#group.commit(this.#moment);
    this.#resource.commit(this.#moment);
    this.#noteChange();
    const decision = this.#admit();
    if (concurrent !== null) decision.place = this.inFlight.enter(concurrent, caller, main);
    // 5. Shadow limits decide only about requests that continue.
    if (bound.shadow !== null) decision.shadow = this.#decideShadow(bound.shadow, caller, main, group, cost);
    if (limits.shadow !== null && limits.shadow.concurrent !== null)
      this.#enterInShadow(decision, limits.shadow.concurrent, caller, main);
    return decision;
  }

  #peek(limits: LimitSet, caller: string, main: string, group: string, cost: number): Decision {
    this.#readClock(this.#moment);
    this.#table.begin(this.#moment.nowMs);
    this.#look(this.#keyspaces.bindSet(limits), caller, main, group, cost);
    if (this.#isRefused()) return this.#refuse();
    const { concurrent } = limits;
    return concurrent !== null && this.inFlight.isFull(concurrent, caller, main)
      ? this.#refuseAtOnce()
      : this.#describe(this.#described(), true);
  }

  #refund(limit: Limit, part: string, window: number, cost: number): void {
    this.#readClock(this.#moment);
    this.#table.begin(this.#moment.nowMs);
    const bound = this.#keyspaces.bind(limit);
    this.#resource.look(bound, null, part, this.#keysPerCaller, this.#moment.nowMs, cost);
    this.#resource.refund(window, this.#moment.nowMs);
    this.#noteChange();
  }

  #reset(limit: Limit, caller: string, main: string): void {
    this.#readClock(this.#moment);
    this.#table.begin(this.#moment.nowMs);
    const { keyspace } = this.#keyspaces.bind(limit);
    const row = this.#table.find(keyspace.number, caller, main);
    if (row >= 0) this.#table.close(row);
    this.#noteChange();
  }

  #noteChange(): void {
    const changes = this.#words.ints[CHANGES];
    if (changes !== 0) this.#words.set(CHANGES, changes === -1 ? 1 : (changes ?? 0) + 1);
  }

  #look(bound: BoundSet, caller: string, main: string, group: string, cost: number): void {
    const { nowMs } = this.#moment;
    this.#global.look(bound.global, caller, '', this.#keysPerCaller, nowMs);
    this.#caller.look(bound.caller, caller, main, this.#keysPerCaller, nowMs, cost);
    this.#resource.look(bound.resource, caller, main, this.#keysPerCaller, nowMs, cost);
    // Without a main value, no caller opened it: callers do not choose how many groups there are.
    const opener = main === '' ? null : caller;
    const part = bound.group === null ? '' : groupCounterKey(group, main);
    this.#group.look(bound.group, opener, part, this.#keysPerCaller, nowMs, cost);
  }

  #decideShadow(
    bound: BoundLimits,
    caller: string,
    main: string,
    group: string,
    cost: number,
  ): ShadowDecision {
    return this.#shadow.decide(bound, caller, main, group, cost, this.#keysPerCaller, this.#moment);
  }

  #isRefused(): boolean {
    return (
      this.#global.waitMs > 0 ||
      this.#caller.waitMs > 0 ||
      this.#group.waitMs > 0 ||
      this.#resource.waitMs > 0
    );
  }

  #undo(): void {
    this.#global.undo();
    this.#caller.undo();
    this.#group.undo();
    this.#resource.undo();
  }

  #refuse(): Decision {
    let consumption = this.#global;
    if (consumption.waitMs === 0) {
      consumption = this.#caller;
      if (this.#group.waitMs > consumption.waitMs) consumption = this.#group;
      if (this.#resource.waitMs > consumption.waitMs) consumption = this.#resource;
    }
    const decision = this.#describe(consumption, false);
    decision.sharedKey = consumption.isShared;
    decision.otherParts = consumption.isOtherParts && !consumption.isShared;
    return decision;
  }

  /** Refuses because too many of the caller's requests are in flight, though every quota admits this one. */
  #refuseAtOnce(): Decision {
    const { bound } = this.#described();
    const decision = this.#describe(this.#described(), true);
    decision.admitted = false;
    decision.atOnce = true;
    decision.retryAfterMs = AT_ONCE_WAIT_MS;
    if (bound !== null && bound.limit.largestCost > 1) decision.remaining = 0;
    return decision;
  }

  #enterInShadow(decision: Numbers, concurrent: Limit, caller: string, main: string): void {
    if (!this.inFlight.isFull(concurrent, caller, main))
      decision.place = this.inFlight.enter(concurrent, caller, main);
    else decision.shadow = { ...decision.shadow, refused: [...decision.shadow.refused, 'concurrent'] };
  }

  #admit(): Numbers {
    const decision = this.#describe(this.#described(), true);
    decision.groupWindow = this.#group.windowToReturn;
    decision.resourceWindow = this.#resource.windowToReturn;
    return decision;
  }

  /** The limit that the header fields describe on admission: the caller's, or the resource's if the bucket has no other. */
  #described(): Consumption {
    return this.#caller.bound === null ? this.#resource : this.#caller;
  }

  #describe(consumption: Consumption, admitted: boolean): Numbers {
    const { bound, counter } = consumption;
    const { nowMs } = this.#moment;
    const decision = this.#decision;
    decision.admitted = admitted;
    decision.role = bound === null ? null : bound.limit.role;
    decision.limit = bound === null ? 0 : bound.limit.units;
    decision.remaining = bound === null || !admitted ? 0 : bound.rule.remaining(counter, bound.limit, nowMs);
    decision.resetAtMs = bound === null ? 0 : this.#announce(consumption);
    decision.resetAfterMs = bound === null ? 0 : bound.rule.resetInMs(counter, bound.limit, nowMs);
    decision.atOnce = false;
    decision.place = null;
    decision.retryAfterMs = consumption.waitMs;
    decision.sharedKey = false;
    decision.otherParts = false;
    decision.groupWindow = 0;
    decision.resourceWindow = 0;
    decision.decidedAtMs = this.#moment.steadyEpochMs;
    decision.shadow = NO_SHADOW;
    return decision;
  }

  #announce(consumption: Consumption): number {
    const { bound, counter } = consumption;
    if (bound === null) return 0;
    const before = counter.markMs;
    const resetAtMs = bound.rule.announce(counter, bound.limit, this.#moment);
    // Saves a correction after a step of the wall clock, so that later responses announce the same time.
    if (counter.markMs !== before) consumption.save();
    return resetAtMs;
  }

  #countOtherParts(): void {
    if (
      this.#global.isOtherParts ||
      this.#caller.isOtherParts ||
      this.#group.isOtherParts ||
      this.#resource.isOtherParts
    )
      this.countCallerOverflow();
  }
}
