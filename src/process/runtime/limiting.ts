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
import { DefaultRefusals } from './default-refusals.ts';
import type { KeptState } from './kept-state.ts';
import type { NewSharedStore } from './load-store.ts';
import { sharedClaims, sharedRestrictions, shareResets, shareRevocations } from './replication.ts';
import { Blocked, ownersOfCaller, Restricting } from './restricting.ts';
import type { SharedStore } from './shared-store.ts';
import { standInsOf } from './stand-ins.ts';

/** How often expired counters and restrictions are dropped. */
const SWEEP_MS = 250;
/** How often the main thread looks for decisions by counters that stand in for others. */
const STAND_INS_MS = 5_000;

/** Counts requests and offences. Outlives a reload: `use` applies the next configuration's rules. */
export class Limiting {
  /** Decides requests: that of `redis`, else `local`. */
  readonly store: limits.LimitStore;
  /** Counters of this process: the store itself, or its stand-in while Redis is unreachable. */
  readonly local: limits.LocalStore;
  /** The Redis that gateways share; `null` if limits are counted only in this process. */
  readonly redis: SharedStore | null;
  readonly restrictions: limits.Restrictions;
  /** The clients that limits.yaml lists as blocked; `null` if it lists none. */
  blocked: Blocked | null = null;
  readonly invalidRequests: limits.AddressOffences;
  readonly webhookNotFound: limits.AddressOffences;
  readonly ignoredRefusals: limits.IgnoredRefusals;
  /** Shows and resets what callers have consumed. */
  readonly allowances: Allowances;
  readonly listener: core.LimitListener;
  /** Notices limits that no file names. */
  readonly defaults: DefaultRefusals;
  /** Whether no thread of any gateway has claimed this name in the last `forMs`. */
  readonly claim: core.Claims['claim'];
  readonly #part: core.ProcessPart;
  readonly #state: Pick<KeptState, 'files'> | null;
  /** Adds up offences across all gateways; `null` if this process counts alone. */
  readonly #feed: limits.OffenceFeed | null;
  readonly #restricting: Restricting;
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
      /** The requests in flight that other threads reported. Default: none. */
      readonly inFlightElsewhere?: (() => readonly limits.InFlightCount[]) | undefined;
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
    this.#restricting = new Restricting({
      clock,
      randomBytes,
      memory,
      restrictions,
      maxKeys,
      tally: this.#feed,
    });
    this.invalidRequests = this.#restricting.invalidRequests;
    this.webhookNotFound = this.#restricting.webhookNotFound;
    this.ignoredRefusals = this.#restricting.ignoredRefusals;
    this.allowances = new Allowances({
      store: (this.redis?.limits ?? this.local).allowances,
      part,
      randomBytes,
      forgetKnown: () => this.redis?.limits.forgetRefusals(),
      ignoredRefusals: this.ignoredRefusals,
    });
    this.use(model);
  }

  /** Throws an error, and changes nothing, if the memory allocated at startup has no room for this many limits. */
  use(model: LimitsModel): void {
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
    this.#restricting.use(model);
    this.blocked = model.blocked === null ? null : new Blocked(model.blocked, model.neverRestrict);
    // Limits may have changed, and restrictions may have been lifted.
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

  /** Whether revocations and restrictions would still be known after a restart now. */
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
      this.#restricting.sweep();
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

/** Divides the room for counters among the limits of this configuration. Existing counts stay. */
export function followLimits(counters: limits.LocalStore, model: LimitsModel): void {
  counters.share(everyLimit(model));
  counters.keysPerCaller = model.keysPerCaller;
}

interface AllowancesDependencies {
  readonly store: limits.AllowanceStore;
  /** How other gateways are told of a reset. */
  readonly part: core.ProcessPart;
  readonly randomBytes: core.RandomBytes;
  /** Makes the store ask again about keys that it knows to be exhausted. */
  readonly forgetKnown: () => void;
  readonly ignoredRefusals: limits.IgnoredRefusals;
}

/** Shows and resets what callers have consumed, for an operator. A reset applies to all gateways that share the limits. */
export class Allowances {
  readonly #dependencies: AllowancesDependencies;
  readonly #announceReset: () => void;

  constructor(dependencies: AllowancesDependencies) {
    const { part, randomBytes } = dependencies;
    this.#dependencies = dependencies;
    this.#announceReset = shareResets(part, randomBytes, () => this.#forgetRefusals());
  }

  /** Reads what is left of these limits, and how much is in flight; `null` if nothing is counting now. */
  async read(...asked: Parameters<limits.AllowanceStore['read']>): Promise<limits.AllowanceReading | null> {
    return this.#dependencies.store.read(...asked);
  }

  /** Resets counters. Returns where they were counted; `null` if nothing is counting now. */
  async reset(
    limits: readonly limits.Limit[],
    caller: string,
    main: string | null,
  ): Promise<limits.CountedIn | null> {
    const countedIn = await this.#dependencies.store.reset(limits, caller, main);
    this.#forgetRefusals();
    if (countedIn === 'redis') this.#announceReset();
    return countedIn;
  }

  /** Forgets remembered refusals, which are repeated without asking and reveal who ignores them: they are no longer valid. */
  #forgetRefusals(): void {
    const { forgetKnown, ignoredRefusals } = this.#dependencies;
    forgetKnown();
    ignoredRefusals.forgetWaits();
  }
}
