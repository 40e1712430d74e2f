import { everyLimit, type LimitsModel } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { silent } from '../../core/index.ts';
import type { Revocations } from '../../identity/auth/index.ts';
import type * as limits from '../../limits/index.ts';
import {
  bucketsInFlight,
  DEFAULT_MAX_EVENT_KEYS,
  InFlight,
  MemoryStore,
  placesForCounters,
  tableSizeFor,
} from '../../limits/index.ts';
import { networkOfKey } from '../../wire/http/index.ts';
import { Allowances } from './allowances.ts';
import { DefaultRefusals } from './default-refusals.ts';
import type { KeptState } from './kept-state.ts';
import type { NewSharedStore } from './load-store.ts';
import { sharedClaims, sharedRestrictions, shareRevocations } from './replication.ts';
import { Blocked, ownersOfCaller, Restricting } from './restricting.ts';
import type { SharedStore } from './shared-store.ts';
import { standInsOf } from './stand-ins.ts';

/** How often expired counters and restrictions are dropped. */
const SWEEP_MS = 250;
/** How often the main thread looks for decisions by counters that stand in for others. */
const STAND_INS_MS = 5_000;

/** Counts requests and offences. Outlives a reload: `apply` applies the next configuration's rules. */
export class Limiting {
  /** The store that decides requests: that of `redis`, else `local`. */
  readonly store: limits.LimitStore;
  /** Counters of this process: the store itself, or its stand-in while Redis is unreachable. */
  readonly local: limits.MemoryStore;
  /** The Redis that gateways share; `null` if limits are counted only in this process. */
  readonly redis: SharedStore | null;
  readonly restrictions: limits.Restrictions;
  /** The clients that limits.yaml lists as blocked; `null` if it lists none. */
  blocked: Blocked | null = null;
  readonly offences: Restricting;
  /** Shows and resets what callers have consumed. */
  readonly allowances: Allowances;
  readonly listener: core.LimitListener;
  /** Notices refusals by limits that no file names. */
  readonly defaults: DefaultRefusals;
  /** Whether no thread of any gateway has claimed this name in the last `forMs`. */
  readonly claim: core.Claims['claim'];
  readonly #part: core.ProcessPart;
  readonly #state: Pick<KeptState, 'files'> | null;
  /** Adds up offences across all gateways; `null` if this process counts alone. */
  readonly #feed: limits.OffenceFeed | null;
  #buckets: LimitsModel['buckets'] = [];
  readonly #clock: core.TimerClock;
  #sweeper: core.Timer | null = null;
  #standInTimer: core.Timer | null = null;

  constructor(
    model: LimitsModel,
    dependencies: {
      readonly clock: core.TimerClock;
      readonly randomBytes: core.RandomBytes;
      readonly listener: core.LimitListener;
      readonly storeListener: core.StoreListener;
      /** Creates the store that gateways share. Default: limits are counted only in this process. */
      readonly newSharedStore?: NewSharedStore | null | undefined;
      /** Maximum counters held in this process. */
      readonly limitKeys: number;
      /** Where requests and offences are counted, and how facts are shared. */
      readonly part: core.ProcessPart;
      /** Keeps facts across a restart. Default: nothing is kept. */
      readonly state?: Pick<KeptState, 'facts' | 'files'> | null | undefined;
      /** The requests in flight that other threads reported. */
      readonly inFlightElsewhere: typeof limits.NONE_ELSEWHERE;
    },
  ) {
    const { clock, randomBytes, listener, storeListener, part, state = null } = dependencies;
    const { keysPerCaller } = model;
    const { memory } = part;
    this.#part = part;
    this.listener = listener;
    this.defaults = new DefaultRefusals(part, clock, listener);
    const inFlight = new InFlight(part.permits, dependencies.inFlightElsewhere);
    this.local = memoryCounters({ clock, randomBytes, memory, maxKeys: dependencies.limitKeys, inFlight });
    this.redis =
      dependencies.newSharedStore?.({
        clock,
        randomBytes,
        listener: storeListener,
        local: this.local,
        keysPerCaller,
        part,
      }) ?? null;
    this.store = this.redis?.limits ?? this.local;
    this.#clock = clock;
    if (state !== null) part.carry(state.facts);
    this.#state = state;
    this.claim = sharedClaims(part, clock, this.redis?.claims ?? null);
    this.restrictions = sharedRestrictions(part, {
      clock,
      listener: part.isMain ? listener : silent(),
      networkOf: networkOfKey,
      places: placesForCounters(dependencies.limitKeys),
    });
    this.#feed = this.redis?.feed((offence, rule) => this.#exceeded(offence, rule)) ?? null;
    const maxKeys = tableSizeFor(DEFAULT_MAX_EVENT_KEYS, dependencies.limitKeys);
    const { restrictions } = this;
    this.offences = new Restricting({
      clock,
      randomBytes,
      memory,
      restrictions,
      maxKeys,
      tally: this.#feed,
    });
    this.allowances = new Allowances({
      store: (this.redis?.limits ?? this.local).allowances,
      part,
      randomBytes,
      forgetKnown: () => this.redis?.limits.forgetRefusals(),
      ignoredRefusals: this.offences.ignoredRefusals,
    });
    followLimits(this.local, model);
    this.apply(model);
  }

  /** Divides the room among the limits of the configuration in use, which were checked, in steps. */
  makeRoom(model: LimitsModel): core.Steps<void> {
    return this.local.shareInSteps(everyLimit(model));
  }

  /** Applies the rules of a configuration, without dividing the room. */
  apply(model: LimitsModel): void {
    this.local.keysPerCaller = model.keysPerCaller;
    this.#buckets = model.buckets;
    if (this.redis !== null) this.redis.limits.keysPerCaller = model.keysPerCaller;
    this.offences.use(model);
    this.blocked = model.blocked === null ? null : new Blocked(model.blocked, model.neverRestrict);
    // Limits may have changed, or restrictions may have been lifted.
    this.redis?.limits.forgetRefusals();
  }

  /** Shares these revocations with the other threads and gateways, if there are any. */
  shareRevocations(revocations: Revocations): void {
    shareRevocations(this.#part, revocations);
  }

  /** The files of `state`; none if it is off. */
  get stateFiles(): KeptState['files'] {
    return this.#state?.files ?? [];
  }

  /** Whether revocations and restrictions would survive a restart now. */
  get outlivesRestart(): boolean {
    const [ofFacts] = this.stateFiles;
    return this.redis !== null || (ofFacts !== undefined && ofFacts.fault === null);
  }

  /** What the counters of this process hold, and how often room ran out here and in the shared store. */
  get counts(): limits.StoreCounts & { readonly concurrent: readonly limits.BucketInFlight[] } {
    const { counts, inFlight } = this.local;
    return { ...counts, concurrent: bucketsInFlight(this.#buckets, inFlight) };
  }

  get sharing() {
    return {
      untold: this.redis?.untold ?? 0,
      adopted: this.#part.isMain ? this.restrictions.adopted : 0,
      unshared: this.#feed?.left ?? 0,
    };
  }

  start(): void {
    this.redis?.start();
    this.#feed?.start();
    this.#sweeper = this.#clock.every(SWEEP_MS, () => {
      this.local.sweep();
      this.restrictions.sweep();
    });
    if (!this.#part.isMain) return;
    this.#standInTimer = this.#clock.every(STAND_INS_MS, standInsOf(this.local, this.listener, this.#clock));
  }

  stop(): void {
    this.#clock.cancel(this.#sweeper);
    this.#clock.cancel(this.#standInTimer);
    this.#feed?.stop();
    this.redis?.stop();
  }

  #exceeded(offence: limits.Restricted, { restrictForMs }: limits.OffenceRule): void {
    if (this.restrictions.isExempt(offence.key)) return;
    // If it is already restricted, the first gateway has set the end.
    if (!this.restrictions.isRestricted(offence)) this.restrictions.restrict(offence, restrictForMs);
  }
}

/** Makes the counters of this process, or of the threads that share `memory`. Call `followLimits` with each configuration. */
export function memoryCounters(
  options: Pick<limits.MemoryStoreOptions, 'clock' | 'randomBytes' | 'maxKeys' | 'memory' | 'inFlight'>,
): MemoryStore {
  return new MemoryStore({ ...options, ownersOf: ownersOfCaller });
}

/**
 * Divides the room for counters among the limits of this configuration. Existing counts stay. Throws an error, and changes nothing,
 * if the memory allocated at startup has no room for this many limits.
 */
export function followLimits(counters: limits.MemoryStore, model: LimitsModel): void {
  counters.share(everyLimit(model));
  counters.keysPerCaller = model.keysPerCaller;
}
