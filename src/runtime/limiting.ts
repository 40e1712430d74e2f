import type { Revocations } from '../auth/index.ts';
import type { LimitsModel, StoreModel } from '../config/index.ts';
import type { Clock, LimitListener, StoreListener, Timer, TimerClock } from '../core/index.ts';
import { networkOfKey } from '../http/index.ts';
import {
  DEFAULT_MAX_EVENT_KEYS,
  type Decision,
  type IgnoredRefusals,
  type InvalidRequests,
  type LimitStore,
  type MemoryStore,
  Restrictions,
  type ShadowRestrictions,
  type StoreCounts,
  type WebhookNotFound,
} from '../limits/index.ts';
import { OffenceFeed } from '../redis/index.ts';
import { Allowances } from './allowances.ts';
import { followLimits, memoryCounters } from './memory-counters.ts';
import { type Claim, noteRefusal, type RefusedSender } from './offences.ts';
import {
  announceLift,
  announceRestriction,
  shareRestrictions,
  shareRevocations,
  withdrawRestriction,
} from './replication.ts';
import { Blocked, Restricting } from './restricting.ts';
import { SharedStore } from './shared-store.ts';
import { StoppableClock } from './stoppable-clock.ts';

/** How often expired counters and restrictions are dropped. */
const SWEEP_MS = 250;

/** Counts requests and offences. Outlives a reload: `use` applies the next configuration's rules. */
export class Limiting {
  /** Decides about each request. */
  readonly store: LimitStore;
  /** Counters of this process: the store itself, or its stand-in while the shared one is unreachable. */
  readonly memory: MemoryStore;
  /** Null: limits are counted in this process alone. */
  readonly shared: SharedStore | null;
  readonly restrictions: Restrictions;
  /** Null: nobody is. */
  blocked: Blocked | null = null;
  /** Whom the rules in shadow would restrict. */
  readonly shadowRestrictions: ShadowRestrictions;
  readonly invalidRequests: InvalidRequests;
  readonly webhookNotFound: WebhookNotFound;
  readonly ignoredRefusals: IgnoredRefusals;
  /** What callers have drawn. */
  readonly allowances: Allowances;
  readonly listener: LimitListener;
  /** Adds up offences across all gateways. */
  readonly #feed: OffenceFeed | null;
  readonly #restricting: Restricting;
  readonly #clock: TimerClock;
  readonly #restrictingClock: StoppableClock;
  #sweeper: Timer | null = null;

  constructor(
    model: LimitsModel,
    store: StoreModel,
    dependencies: {
      readonly clock: TimerClock;
      readonly listener: LimitListener;
      readonly storeListener: StoreListener;
      /** Most counters held in this process. */
      readonly limitKeys: number;
    },
  ) {
    const { clock, listener, storeListener } = dependencies;
    const { keysPerCaller } = model;
    this.listener = listener;
    this.memory = memoryCounters(clock, dependencies.limitKeys);
    this.shared =
      store.kind === 'memory'
        ? null
        : new SharedStore(store, { clock, listener: storeListener, local: this.memory, keysPerCaller });
    this.store = this.shared?.limits ?? this.memory;
    this.#clock = clock;
    this.#restrictingClock = new StoppableClock(clock);
    this.restrictions = this.#makeRestrictions(this.#restrictingClock, listener);
    this.#feed = this.#makeFeed(clock);
    const maxKeys = Math.min(DEFAULT_MAX_EVENT_KEYS, dependencies.limitKeys);
    const { restrictions } = this;
    this.#restricting = new Restricting({
      ...{ clock: this.#restrictingClock, listener, restrictions, tally: this.#feed, maxKeys },
    });
    this.shadowRestrictions = this.#restricting.shadowRestrictions;
    this.invalidRequests = this.#restricting.invalidRequests;
    this.webhookNotFound = this.#restricting.webhookNotFound;
    this.ignoredRefusals = this.#restricting.ignoredRefusals;
    this.allowances = new Allowances({
      store: (this.shared?.limits ?? this.memory).allowances,
      shared: this.shared,
      ignoredRefusals: this.ignoredRefusals,
    });
    this.use(model);
  }

  use(model: LimitsModel): void {
    followLimits(this.memory, model);
    if (this.shared !== null) this.shared.limits.keysPerCaller = model.keysPerCaller;
    this.#restricting.use(model);
    this.blocked = model.blocked === null ? null : new Blocked(model.blocked, model.neverRestrict);
    // Numbers may have changed, and restrictions may have been lifted.
    this.shared?.limits.forgetRefusals();
  }

  /** Counts an offence now. Returns when that is, by the clock of `decidedAtMs`. */
  offend(count: () => void): number {
    const atMs = this.memory.nowMs();
    this.#restrictingClock.stopAt(this.memory.momentMs, count);
    return atMs;
  }

  /** Notes a refusal that was just decided, at the moment of that decision where this process made it. */
  noteRefusal(claim: Claim, decision: Decision, sender: RefusedSender): void {
    const note = () => noteRefusal(this.ignoredRefusals, claim, decision, sender);
    if (this.shared === null) this.#restrictingClock.stopAt(this.memory.momentMs, note);
    else note();
  }

  /** Shares these revocations with the other gateways, if there are any. */
  shareRevocations(revocations: Revocations): void {
    if (this.shared !== null) shareRevocations(this.shared.board, revocations);
  }

  /** Whether no gateway has claimed this name for as long. Without a shared store there is no other. */
  async claim(name: string, forMs: number): Promise<boolean> {
    return this.shared === null || this.shared.claims.claim(name, forMs);
  }

  /** What the counters of this process hold, and how often room ran out here and in the shared store. */
  get counts(): StoreCounts {
    const { counts } = this.memory;
    return {
      ...counts,
      callerOverflows: counts.callerOverflows + (this.shared?.limits.callerOverflows ?? 0),
    };
  }

  /** What is exchanged with other gateways. */
  get sharing() {
    return {
      untold: this.shared?.board.outgoing ?? 0,
      adopted: this.restrictions.adopted,
      unshared: this.#feed?.left ?? 0,
    };
  }

  start(): void {
    this.shared?.start();
    this.#feed?.start();
    this.#sweeper = this.#clock.every(SWEEP_MS, () => {
      this.memory.sweep();
      this.#restricting.sweep();
    });
  }

  stop(): void {
    this.#clock.cancel(this.#sweeper);
    this.#feed?.stop();
    this.shared?.stop();
  }

  #makeRestrictions(clock: Clock, listener: LimitListener): Restrictions {
    const board = this.shared?.board;
    if (board === undefined) return new Restrictions({ clock, listener, networkOf: networkOfKey });
    const restrictions = new Restrictions({
      clock,
      listener,
      networkOf: networkOfKey,
      announce: restriction => announceRestriction(board, restriction),
      announceLift: lift => announceLift(board, lift),
      withdraw: restriction => withdrawRestriction(board, restriction),
    });
    shareRestrictions(board, restrictions);
    return restrictions;
  }

  #makeFeed(clock: TimerClock): OffenceFeed | null {
    if (this.shared === null) return null;
    const { connection, health } = this.shared;
    return new OffenceFeed({
      connection,
      health,
      clock,
      exceeded: (offence, { restrictForMs, shadow }) => {
        if (this.restrictions.isExempt(offence.key)) return;
        if (shadow === true) this.shadowRestrictions.restrict(offence, restrictForMs);
        // If it is restricted already, the first gateway has set the end.
        else if (!this.restrictions.isRestricted(offence)) this.restrictions.restrict(offence, restrictForMs);
      },
    });
  }
}
