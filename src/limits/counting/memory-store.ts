import type { Clock } from '../../core/index.ts';
import { Consumption, ShadowConsumption } from './consumption.ts';
import { Moment } from './counter.ts';
import { CounterTable } from './counter-table.ts';
import { type Decision, type LimitStore, NO_SHADOW, UNLIMITED } from './decision.ts';
import type { Limit, LimitRole, LimitSet } from './limit-definition.ts';
import { MemoryAllowances } from './memory-allowances.ts';
import { type BoundSet, Keyspaces, type NetworkOf } from './record-table.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Most keys held, at 80 to 90 bytes each. Default 1,000,000. */
  readonly maxKeys?: number;
  /**
   * Most keys for main values that one caller holds, those included that it opened for all callers; further values share one.
   * Default 4,096.
   */
  readonly keysPerCaller?: number;
  /** Callers of one network hold no more than a sixteenth of all keys, for main values; further values share one. Default: none has a network. */
  readonly networkOf?: NetworkOf;
}

/** What one partition of the store holds (see `Partitions`). */
export interface PartitionCounts {
  /** Empty for the global limit. */
  readonly bucket: string;
  readonly role: LimitRole;
  /** Keys held now. */
  readonly size: number;
  readonly evictions: number;
  readonly overflows: number;
}

/** What a store holds, and how often it ran out of room since the start. */
export interface StoreCounts {
  readonly keys: number;
  readonly callers: number;
  /** Keys evicted before their Reset, so that the units consumed are forgotten. Alert on this. */
  readonly evictions: number;
  /** Requests for a main value beyond the caller's maximum, which were decided by the key that those values share. */
  readonly callerOverflows: number;
  /** Decisions by the one key of a partition that stands in for all keys without room. Alert on this. */
  readonly sharedOverflows: number;
  /** The same for each partition of the configuration in force. */
  readonly partitions: readonly PartitionCounts[];
}

/** Rows checked per sweep: a fraction of a millisecond. */
const ROWS_PER_TICK = 10_000;

type Numbers = { -readonly [Name in keyof Decision]: Decision[Name] };

/** Counts in this process. Answers synchronously, always with the same object, valid until the next call. */
export class MemoryStore implements LimitStore {
  /** Shows and resets counters. */
  readonly allowances: MemoryAllowances;
  readonly #clock: Clock;
  readonly #table: CounterTable;
  readonly #keyspaces: Keyspaces;
  readonly #moment = new Moment();
  readonly #global: Consumption;
  readonly #caller: Consumption;
  readonly #resource: Consumption;
  readonly #shadow: ShadowConsumption;
  readonly #decision: Numbers = { ...UNLIMITED };
  #keysPerCaller: number;
  #callerOverflows = 0;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
    this.#table = new CounterTable(options.maxKeys ?? 1_000_000, options.networkOf);
    this.#keyspaces = new Keyspaces(limit => this.#table.partitions.of(limit));
    this.#keysPerCaller = options.keysPerCaller ?? 4_096;
    this.allowances = new MemoryAllowances({
      clock: options.clock,
      table: this.#table,
      keyspaces: this.#keyspaces,
      keysPerCaller: () => this.#keysPerCaller,
    });
    this.#global = new Consumption(this.#table);
    this.#caller = new Consumption(this.#table);
    this.#resource = new Consumption(this.#table);
    this.#shadow = new ShadowConsumption(this.#table);
  }

  get counts(): StoreCounts {
    const partitions = [...this.#table.partitions.all];
    return {
      keys: this.#table.size,
      callers: this.#table.callers,
      evictions: partitions.reduce((sum, { evictions }) => sum + evictions, 0),
      callerOverflows: this.#callerOverflows,
      sharedOverflows: partitions.reduce((sum, { overflows }) => sum + overflows, 0),
      partitions: partitions.filter(({ isInForce }) => isInForce),
    };
  }

  /** Divides the room among these limits, so that none takes what another needs. Call it again after a reload. */
  share(limits: Iterable<Limit>): void {
    this.#table.partitions.share(limits);
  }

  /** Reads the clock, and returns what `decidedAtMs` would be now. */
  nowMs(): number {
    this.#moment.read(this.#clock);
    return this.#moment.steadyEpochMs;
  }

  /** Converts a moment of the monotonic clock to the clock of `decidedAtMs`. */
  epochMsOf(monotonicMs: number): number {
    this.#moment.read(this.#clock);
    return this.#moment.steadyEpochOf(monotonicMs);
  }

  /** The moment of the last decision, on the monotonic clock. */
  get momentMs(): number {
    return this.#moment.nowMs;
  }

  /** A reload may change this number; callers keep the keys they hold. */
  set keysPerCaller(max: number) {
    this.#keysPerCaller = max;
  }

  decide(limits: LimitSet, caller: string, main: string): Decision {
    // 1. Read the clock once: everything in one response refers to one moment.
    this.#moment.read(this.#clock);
    const { nowMs } = this.#moment;
    this.#table.begin(nowMs);
    // 2. Look the keys up. A refusal found here creates no new key.
    const bound = this.#keyspaces.bindSet(limits);
    this.#look(bound, caller, main);
    if (!this.#isRefused()) {
      // 3. Create the missing keys. Where there is no room, the counter that stands in decides, and may refuse.
      this.#global.openCounter(nowMs);
      this.#caller.openCounter(nowMs);
      this.#resource.openCounter(nowMs);
      if (this.#isRefused()) this.#undo();
    }
    this.#countOtherParts();
    if (this.#isRefused()) return this.#refuse();
    // 4. All limits admit: consume a unit of each.
    this.#global.commit(this.#moment);
    this.#caller.commit(this.#moment);
    this.#resource.commit(this.#moment);
    const decision = this.#admit();
    // 5. What is in shadow decides only about requests that go on.
    if (bound.shadow !== null)
      decision.shadow = this.#shadow.decide(bound.shadow, caller, main, this.#keysPerCaller, this.#moment);
    return decision;
  }

  peek(limits: LimitSet, caller: string, main: string): Decision {
    this.#moment.read(this.#clock);
    this.#table.begin(this.#moment.nowMs);
    this.#look(this.#keyspaces.bindSet(limits), caller, main);
    return this.#isRefused() ? this.#refuse() : this.#describe(this.#described(), true);
  }

  refund(limit: Limit, main: string, resourceWindow: number): void {
    this.#moment.read(this.#clock);
    this.#table.begin(this.#moment.nowMs);
    const bound = this.#keyspaces.bind(limit);
    this.#resource.look(bound, null, main, this.#keysPerCaller, this.#moment.nowMs);
    this.#resource.refund(resourceWindow, this.#moment.nowMs);
  }

  /** Forgets the units that one key has consumed. `main`: '' for a global limit. */
  reset(limit: Limit, caller: string, main: string): void {
    this.#moment.read(this.#clock);
    this.#table.begin(this.#moment.nowMs);
    const { keyspace } = this.#keyspaces.bind(limit);
    const row = this.#table.find(keyspace.number, caller, main);
    if (row >= 0) this.#table.close(row);
  }

  /** Cleans a bounded number of rows. Call it a few times a second so that an idle gateway cleans up too. */
  sweep(): void {
    this.#moment.read(this.#clock);
    this.#table.sweep(this.#moment.nowMs, ROWS_PER_TICK);
  }

  #look(bound: BoundSet, caller: string, main: string): void {
    const { nowMs } = this.#moment;
    this.#global.look(bound.global, caller, '', this.#keysPerCaller, nowMs);
    this.#caller.look(bound.caller, caller, main, this.#keysPerCaller, nowMs);
    this.#resource.look(bound.resource, caller, main, this.#keysPerCaller, nowMs);
  }

  #isRefused(): boolean {
    return this.#global.waitMs > 0 || this.#caller.waitMs > 0 || this.#resource.waitMs > 0;
  }

  #undo(): void {
    this.#global.undo();
    this.#caller.undo();
    this.#resource.undo();
  }

  #refuse(): Decision {
    let consumption = this.#global;
    if (consumption.waitMs === 0)
      consumption = this.#caller.waitMs >= this.#resource.waitMs ? this.#caller : this.#resource;
    const decision = this.#describe(consumption, false);
    decision.sharedKey = consumption.isShared;
    decision.otherParts = consumption.isOtherParts && !consumption.isShared;
    return decision;
  }

  #admit(): Numbers {
    const decision = this.#describe(this.#described(), true);
    const { bound, counter, isOfOneValue } = this.#resource;
    if (bound !== null && isOfOneValue) decision.resourceWindow = bound.rule.windowOf(counter);
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
    decision.remaining = bound === null ? 0 : bound.rule.remaining(counter, bound.limit, nowMs);
    decision.resetAtMs = bound === null ? 0 : this.#announce(consumption);
    decision.resetAfterMs = bound === null ? 0 : bound.rule.resetInMs(counter, bound.limit, nowMs);
    decision.retryAfterMs = consumption.waitMs;
    decision.sharedKey = false;
    decision.otherParts = false;
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
    // Keeps a correction after a step of the wall clock, so that later responses announce the same moment.
    if (counter.markMs !== before) consumption.save();
    return resetAtMs;
  }

  #countOtherParts(): void {
    if (this.#caller.isOtherParts || this.#resource.isOtherParts) this.#callerOverflows++;
  }
}
