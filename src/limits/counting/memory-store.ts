import { MAIN_THREAD, type Steps } from '../../core/index.ts';
import type { BoundLimit } from './bound-limit.ts';
import type { Moment } from './counter.ts';
import { partitionOf } from './counter-table.ts';
import { Counters, type CountersOptions } from './counters.ts';
import type {
  Decision,
  DrawnUnits,
  LimitStore,
  ShadowDecision,
  ShadowRole,
  WindowState,
} from './decision.ts';
import { NO_SHADOW, NO_WINDOWS, UNLIMITED } from './decision.ts';
import { AT_ONCE_WAIT_MS, InFlight, type Place } from './in-flight.ts';
import { KeptCounters } from './kept-counters.ts';
import type { BoundSet, JointLimits } from './keyspaces.ts';
import { type Limit, type LimitSet, mostPressing } from './limit-definition.ts';
import { MemoryAllowances } from './memory-allowances.ts';
import type { PartitionCounts } from './partitions.ts';

export interface MemoryStoreOptions extends CountersOptions {
  /**
   * Maximum keys for main values that one caller holds, including shared ones that it opened; further values share one. Default
   * 4,096.
   */
  readonly keysPerCaller?: number;
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
/** Rows checked at a time: other threads wait meanwhile. */
const ROWS_AT_ONCE = 250;

/** Refuses in place of a limit if too many requests are in flight. A string would make each comparison slower. */
const IN_FLIGHT = { limit: null };
type Refusing = BoundLimit | typeof IN_FLIGHT;

type Numbers = { -readonly [Name in keyof Decision]: Decision[Name] };

/**
 * Counts in this process, in this thread or in several that share the memory. Answers synchronously, always with the same object,
 * valid until the next call.
 *
 * In shared memory each decision is atomic (`TableMemory.whole`), and time never goes back from one decision to the next,
 * whichever threads make them.
 */
export class MemoryStore implements LimitStore {
  /** Shows and resets counters. */
  readonly allowances: MemoryAllowances;
  /** Saves counters, to be kept across a restart. */
  readonly kept: KeptCounters;
  /** The requests in flight, wherever their limits are counted. */
  readonly inFlight: InFlight;
  readonly #counters: Counters;
  readonly #decision: Numbers = { ...UNLIMITED };
  /** The place that the decision at hand has taken. */
  #place: Place | null = null;
  /** How many rows the sweep at hand has yet to check, until the memory is free. */
  #unswept = 0;
  readonly #sweepSome = () => {
    this.#counters.readClock();
    this.#counters.table.sweep(this.#counters.moment.nowMs, Math.min(this.#unswept, ROWS_AT_ONCE));
    this.#unswept -= ROWS_AT_ONCE;
  };

  constructor(options: MemoryStoreOptions) {
    this.inFlight = options.inFlight ?? new InFlight();
    this.#counters = new Counters(options);
    this.keysPerCaller = options.keysPerCaller ?? 4_096;
    this.kept = new KeptCounters(this.#counters);
    this.allowances = new MemoryAllowances(this.#counters, this.inFlight);
  }

  get counts(): StoreCounts {
    const { table, callerOverflows } = this.#counters;
    const { evictions, overflows } = table.partitions.totals;
    return {
      keys: table.size,
      callers: table.callers,
      evictions,
      callerOverflows,
      sharedOverflows: overflows,
      partitions: table.partitions.counts,
    };
  }

  /** Decisions by counters that stand in for others, of a caller, a network or a partition, since startup. Cheaper than `counts`. */
  get decidedByStandIns(): number {
    return this.#counters.callerOverflows + this.#counters.table.partitions.totals.overflows;
  }

  /** Counts a request for a main value beyond the caller's maximum, and for which limit. */
  countCallerOverflow(limit: Limit): void {
    const { memory, table } = this.#counters;
    memory.whole(() => this.#counters.countCallerOverflow(table.partitions.of(limit), false));
  }

  /**
   * Divides the room among these limits, so that none takes what another needs. Throws an error, and changes nothing, if there are
   * too many (`mostLimits`). In shared memory for the start: the main thread does it before there are workers, a worker before it serves.
   */
  share(limits: Iterable<Limit>): void {
    const { memory, keyspaces } = this.#counters;
    const all = [...limits];
    keyspaces.check(all);
    memory.whole(() => keyspaces.share(all));
  }

  /** The same for a reload, in steps, of limits that were checked. In shared memory the lock is free between them. */
  *shareInSteps(limits: Iterable<Limit>): Steps<void> {
    const { memory, keyspaces } = this.#counters;
    const sharing = keyspaces.shareInSteps(limits);
    let isDone = false;
    let isWaiting = false;
    const errors: unknown[] = [];
    const share = () => {
      isDone = doSome(sharing);
      isWaiting = false;
    };
    for (; !isDone; yield) {
      if (errors.length > 0) throw errors[0];
      if (isWaiting) continue;
      isWaiting = true;
      memory.soon(share).catch(error => errors.push(error));
    }
  }

  /** Reads the clock, and returns what `decidedAtMs` would be now. */
  nowMs(): number {
    return this.#counters.nowMs();
  }

  /** A reload may change this number; callers keep the keys they hold. */
  set keysPerCaller(max: number) {
    this.#counters.table.keysPerCaller = max;
  }

  decide(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision {
    const { memory } = this.#counters;
    // Without a closure a decision takes 2 to 10 % less time.
    if (!memory.isShared) return this.#decide(limits, caller, main, group, cost);
    return memory.whole(() => this.#decide(limits, caller, main, group, cost));
  }

  peek(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision {
    return this.#counters.memory.whole(() => this.#peek(limits, caller, main, group, cost));
  }

  refund(limit: Limit, part: string, window: number, cost = 1, caller: string | null = null): void {
    this.#counters.memory.whole(() => {
      const bound = this.#bind(limit);
      bound.lookAt(caller, part, cost);
      bound.refund(window);
    });
  }

  /** Forgets the units that one key has consumed. `main`: '' for a global limit. */
  reset(limit: Limit, caller: string, main: string): void {
    this.#counters.memory.whole(() => this.#bind(limit).drop(caller, main));
  }

  /** Begins a change of one counter. */
  #bind(limit: Limit): BoundLimit {
    this.#counters.begin();
    this.#counters.noteChange();
    return this.#counters.keyspaces.bind(limit);
  }

  /**
   * Cleans a bounded number of rows. Call it a few times per second so that an idle gateway cleans up as well. In shared memory
   * the main thread does it for all.
   */
  sweep(): void {
    const { memory, table } = this.#counters;
    if (memory.worker !== MAIN_THREAD || this.#unswept > 0) return;
    this.#unswept = Math.min(ROWS_PER_TICK, table.used);
    for (let rows = this.#unswept; rows > 0; rows -= ROWS_AT_ONCE) void memory.soon(this.#sweepSome);
  }

  #decide(limits: LimitSet, caller: string, main: string, group: string, cost: number): Decision {
    const counters = this.#counters;
    // Read the clock once: everything in one response refers to one moment.
    counters.begin();
    const set = counters.keyspaces.bindSet(limits);
    const { enforced } = set;
    this.#place = null;
    const refusing = this.#take(enforced, caller, main, group, cost);
    const other = refusing === IN_FLIGHT ? undefined : enforced.limits.find(isForOthers);
    if (other !== undefined) counters.countCallerOverflow(partitionOf(other.keyspace), other.isShared);
    if (refusing !== null) return this.#refuse(refusing, set);
    counters.noteChange();
    const decision = this.#admit(set);
    decision.drawn = drawnFrom(enforced.limits);
    // Shadow limits decide only about requests that continue.
    if (limits.shadow !== null) decision.shadow = this.#decideShadow(set.shadow, caller, main, group, cost);
    decision.place = this.#place;
    return decision;
  }

  #peek(limits: LimitSet, caller: string, main: string, group: string, cost: number): Decision {
    this.#counters.begin();
    const set = this.#counters.keyspaces.bindSet(limits);
    const refusing = this.#look(set.enforced, caller, main, group, cost);
    return refusing === null ? this.#admit(set) : this.#refuse(refusing, set);
  }

  /** Has each limit decide on its own, with all its windows: if one refuses, the others still count the request. */
  #decideShadow(
    shadow: BoundSet['shadow'],
    caller: string,
    main: string,
    group: string,
    cost: number,
  ): ShadowDecision {
    const { table, moment } = this.#counters;
    const refused: ShadowRole[] = [];
    const drawn: DrawnUnits[] = [];
    for (const joint of shadow) {
      // Releases the records of the previous limit. A number of places has none.
      if (joint.limits.length > 0) table.begin(moment.nowMs);
      if (this.#take(joint, caller, main, group, cost) === null) drawn.push(...drawnFrom(joint.limits));
      else refused.push(joint.limits[0]?.limit.role ?? 'concurrent');
    }
    return { refused, drawn };
  }

  /** Looks up counters, and creates none. Returns what refuses; `null` if all admit. */
  #look(joint: JointLimits, caller: string, main: string, group: string, cost: number): Refusing | null {
    for (const each of joint.toLook) each.look(caller, main, group, cost);
    const refusing = refusingOf(joint.limits);
    if (refusing !== null || joint.concurrent === null) return refusing;
    return this.inFlight.isFull(joint.concurrent, caller, main) ? IN_FLIGHT : null;
  }

  /** Consumes the request's cost and takes its place, unless a limit refuses: returns that one. */
  #take(joint: JointLimits, caller: string, main: string, group: string, cost: number): Refusing | null {
    const { limits, concurrent } = joint;
    const found = this.#look(joint, caller, main, group, cost);
    if (found !== null) return found;
    // Create missing counters. If there is no room, the overflow counter decides, and may refuse.
    for (const each of limits) each.open(caller, main, group);
    const refusing = refusingOf(limits);
    if (refusing !== null) for (const each of limits) each.undo();
    else for (const each of limits) each.commit(this.#counters.moment);
    if (refusing === null && concurrent !== null) this.#place = this.inFlight.enter(concurrent, caller, main);
    return refusing;
  }

  #admit({ described, isPriced }: BoundSet): Numbers {
    const decision = this.#describe(mostPressing(described), true);
    const { moment } = this.#counters;
    if (isPriced) decision.windows = described.map(each => stateOf(each, moment));
    return decision;
  }

  #refuse(refusing: Refusing, set: BoundSet): Decision {
    if (refusing.limit === null) return this.#refuseAtOnce(set);
    const decision = this.#describe(refusing, false);
    decision.sharedKey = refusing.isShared;
    decision.otherParts = refusing.isOtherParts && !refusing.isShared;
    return decision;
  }

  /** Refuses because too many of the caller's requests are in flight, though every quota admits this one. */
  #refuseAtOnce({ described }: BoundSet): Decision {
    const window = mostPressing(described);
    const decision = this.#describe(window, true);
    decision.admitted = false;
    decision.atOnce = true;
    decision.retryAfterMs = AT_ONCE_WAIT_MS;
    if (window !== null && window.limit.largestCost > 1) decision.remaining = 0;
    return decision;
  }

  #describe(bound: BoundLimit | null, admitted: boolean): Numbers {
    const { moment } = this.#counters;
    const decision = this.#decision;
    decision.admitted = admitted;
    decision.role = bound?.limit.role ?? null;
    decision.by = bound?.limit ?? null;
    decision.limit = bound?.limit.units ?? 0;
    decision.remaining = admitted ? (bound?.remaining ?? 0) : 0;
    decision.resetAtMs = bound === null ? 0 : bound.announce(moment);
    decision.resetAfterMs = bound?.resetInMs ?? 0;
    decision.atOnce = false;
    decision.place = null;
    decision.retryAfterMs = bound?.waitMs ?? 0;
    decision.sharedKey = false;
    decision.otherParts = false;
    decision.drawn = UNLIMITED.drawn;
    decision.windows = NO_WINDOWS;
    decision.decidedAtMs = moment.steadyEpochMs;
    decision.shadow = NO_SHADOW;
    return decision;
  }
}

/**
 * The limit that refuses a request: of the global ones, which come first, or else of the others, the one with the longest wait.
 * Returns `null` if all admit it.
 */
function refusingOf(limits: readonly BoundLimit[]): BoundLimit | null {
  let longest: BoundLimit | null = null;
  for (const each of limits) {
    if (longest !== null && longest.limit.role === 'global' && each.limit.role !== 'global') break;
    if (each.waitMs > (longest === null ? 0 : longest.waitMs)) longest = each;
  }
  return longest;
}

/** Steps of one change. */
const STEPS_AT_ONCE = 64;

/** Does some steps. Returns whether they were the last. */
function doSome(steps: Steps<void>): boolean {
  for (let step = 0; step < STEPS_AT_ONCE; step++) if (steps.next().done === true) return true;
  return false;
}

function isForOthers({ isOtherParts }: BoundLimit): boolean {
  return isOtherParts;
}

/** What was just consumed and can be returned. */
function drawnFrom(limits: readonly BoundLimit[]): Decision['drawn'] {
  let drawn: DrawnUnits[] | null = null;
  for (const each of limits) {
    if (each.windowToReturn === 0) continue;
    drawn ??= [];
    drawn.push(unitsFrom(each));
  }
  return drawn ?? UNLIMITED.drawn;
}

function unitsFrom({ limit, windowToReturn: window, isOtherParts, standIn }: BoundLimit): DrawnUnits {
  return isOtherParts ? { limit, window, standIn } : { limit, window };
}

function stateOf(bound: BoundLimit, moment: Moment): WindowState {
  const { limit, remaining, resetInMs } = bound;
  return { limit, remaining, resetAtMs: bound.announce(moment), resetInMs };
}
