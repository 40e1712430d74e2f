import type { Consumption, CountedRequest, LimitsModel, ReturnableUnits } from '../../config/index.ts';
import { consumptionOf } from '../../config/index.ts';
import { type Clock, thisMachine } from '../../core/index.ts';
import { followLimits, memoryCounters } from '../../gateway/runtime/index.ts';
import type { Decision, MemoryStore } from '../../limits/index.ts';
import { RestrictionReplay } from './restriction-replay.ts';

/** How often the store is swept, in virtual time. A gateway sweeps more often; each decision sweeps a little as well. */
const SWEEP_MS = 5_000;
/** Counters of each gateway. */
export const MAX_KEYS = 1_000_000;

interface LimitVerdict {
  readonly consumption: Consumption;
  /** Valid until the next request: the store overwrites it. */
  readonly decision: Decision;
}

/** Decides about requests like a gateway that counts in memory, in virtual time. */
export class LimitEngine {
  readonly clock: VirtualClock;
  readonly #limits: LimitsModel;
  readonly #store: MemoryStore;
  #restricting: RestrictionReplay | null = null;
  readonly #maxKeys: number;
  #sweptAtMs: number;

  /** @param nowMs the start of virtual time, in milliseconds since the epoch */
  constructor(limits: LimitsModel, nowMs: number, maxKeys = MAX_KEYS) {
    this.clock = new VirtualClock(nowMs);
    this.#limits = limits;
    this.#store = memoryCounters({ ...thisMachine, clock: this.clock, maxKeys });
    followLimits(this.#store, limits);
    this.#maxKeys = maxKeys;
    this.#sweptAtMs = nowMs;
  }

  /** Consumes all limits of a request, or none. Returns null if its main parameter is ambiguous: a gateway answers 400. */
  decide(atMs: number, request: CountedRequest): LimitVerdict | null {
    this.reach(atMs);
    const consumption = consumptionOf(this.#limits, request);
    if (consumption === null) return null;
    const { set, caller, main, group, cost } = consumption;
    return { consumption, decision: this.#store.decide(set, caller, main, group, cost) };
  }

  /** Returns the unit of a shared limit that an admitted request consumed. Called when its service denies the caller access. */
  refund(atMs: number, { limit, part, window, cost, caller }: ReturnableUnits): void {
    this.reach(atMs);
    this.#store.refund(limit, part, window, cost, caller);
  }

  get keys(): number {
    return this.#store.counts.keys;
  }

  /** The restrictions, created on first use: nobody is restricted before a sender is refused or offends. */
  get restricting(): RestrictionReplay {
    this.#restricting ??= new RestrictionReplay(this.#limits, this.clock, this.#maxKeys);
    return this.#restricting;
  }

  /** Whether `restricting` has been used; if not, nobody is restricted. */
  get isRestricting(): boolean {
    return this.#restricting !== null;
  }

  reach(atMs: number): void {
    this.clock.reach(atMs);
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = nowMs;
    this.#store.sweep();
    this.#restricting?.sweep();
  }
}

/** Gateways whose counters are held at the same time. */
const MAX_ENGINES = 32;
/** Maximum names of dropped gateways remembered, to count those that come back. */
const MAX_DROPPED = 1_000;

/** One engine for each gateway. If there are too many, the gateway that was silent the longest loses its counters. */
export class Engines {
  readonly #make: (nowMs: number) => LimitEngine;
  readonly #engines = new Map<string, LimitEngine>();
  readonly #dropped = new Set<string>();
  #restarts = 0;

  constructor(make: (nowMs: number) => LimitEngine) {
    this.#make = make;
  }

  /** How often a gateway came back after its counters had been dropped. */
  get restarts(): number {
    return this.#restarts;
  }

  of(name: string, nowMs: number): LimitEngine {
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    if (this.#engines.size >= MAX_ENGINES) this.#dropOne();
    if (this.#dropped.delete(name)) this.#restarts++;
    const engine = this.#make(nowMs);
    this.#engines.set(name, engine);
    return engine;
  }

  #dropOne(): void {
    const [first, ...others] = this.#engines;
    if (first === undefined) return;
    const [name] = others.reduce((one, other) => (heardAtMs(other) < heardAtMs(one) ? other : one), first);
    this.#engines.delete(name);
    if (this.#dropped.size < MAX_DROPPED) this.#dropped.add(name);
  }
}

function heardAtMs([, { clock }]: readonly [string, LimitEngine]): number {
  return clock.epochMs();
}

/** Maximum gateway instances whose requests are counted separately. Each start of a gateway is a new instance. */
export const MAX_INSTANCES = 1_000;

/** A clock that only moves when told to. Its wall clock and its monotonic clock show the same milliseconds since the epoch. */
export class VirtualClock implements Clock {
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  epochMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  reach(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs;
  }
}
