import type { LimitsModel } from '../config/index.ts';
import type { Decision, Limit, MemoryStore } from '../limits/index.ts';
import { type Claim, claimOn, followLimits, type LimitedRequest, memoryCounters } from '../runtime/index.ts';
import { RestrictionReplay } from './restriction-replay.ts';
import { VirtualClock } from './virtual-clock.ts';

/** How often the store cleans up, in virtual time. A gateway does so more often, but each decision cleans a little, too. */
const SWEEP_MS = 5_000;
const MAX_KEYS = 1_000_000;

/** What was decided about one request. */
export interface Verdict {
  readonly claim: Claim;
  /** Valid until the next request: the store overwrites it. */
  readonly decision: Decision;
}

/** Decides about requests as a gateway does that counts in memory, at moments that its user names. */
export class LimitEngine {
  readonly clock: VirtualClock;
  readonly #limits: LimitsModel;
  readonly #store: MemoryStore;
  readonly #shadowed: () => void;
  #restricting: RestrictionReplay | null = null;
  #sweptAtMs: number;

  /**
   * @param nowMs where its time begins, since the epoch
   * @param shadowed called for each restriction that would begin if its rule were not in shadow
   */
  constructor(limits: LimitsModel, nowMs: number, shadowed = () => {}) {
    this.clock = new VirtualClock(nowMs);
    this.#limits = limits;
    this.#shadowed = shadowed;
    this.#store = memoryCounters(this.clock, MAX_KEYS);
    followLimits(this.#store, limits);
    this.#sweptAtMs = nowMs;
  }

  /** Draws on all limits of a request, or on none. Null: the value of its main parameter is ambiguous, so it gets 400. */
  decide(atMs: number, request: LimitedRequest): Verdict | null {
    this.reach(atMs);
    const claim = claimOn(this.#limits, request);
    if (claim === null) return null;
    return { claim, decision: this.#store.decide(claim.set, claim.caller, claim.main) };
  }

  /** Returns the unit that an admitted request drew on a resource limit, as when its service denies the caller access. */
  refund(
    atMs: number,
    unit: { readonly limit: Limit; readonly main: string; readonly window: number },
  ): void {
    this.reach(atMs);
    this.#store.refund(unit.limit, unit.main, unit.window);
  }

  /** Counters held now. */
  get keys(): number {
    return this.#store.counts.keys;
  }

  /** Restricts senders. Nobody is before the first of them is refused or offends. */
  get restricting(): RestrictionReplay {
    this.#restricting ??= new RestrictionReplay(this.#limits, this.clock, this.#shadowed);
    return this.#restricting;
  }

  get isRestricting(): boolean {
    return this.#restricting !== null;
  }

  /** Lets time pass. */
  reach(atMs: number): void {
    this.clock.reach(atMs);
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = nowMs;
    this.#store.sweep();
    this.#restricting?.sweep();
  }
}
