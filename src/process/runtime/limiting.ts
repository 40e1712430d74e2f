import { everyLimit, type LimitsModel } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import type { Revocations } from '../../identity/auth/index.ts';
import type * as limits from '../../limits/index.ts';
import {
  bucketsInFlight,
  DEFAULT_MAX_EVENT_KEYS,
  MemoryStore,
  placesForCounters,
  Restrictions,
  SharedInFlight,
  tableSizeFor,
} from '../../limits/index.ts';
import { networkOfKey } from '../../wire/http/index.ts';
import type { KeptState } from './kept-state.ts';
import type { NewSharedStore } from './load-store.ts';
import type { Replication, ThreadPart } from './replication.ts';
import {
  announceLift,
  announceMet,
  announceReset,
  announceRestriction,
  onReset,
  shareRestrictions,
  shareRevocations,
  withdrawRestriction,
} from './replication.ts';
import { Blocked, ownersOfCaller, Restricting } from './restricting.ts';
import type { SharedStore } from './shared-store.ts';

/** How often expired counters and restrictions are dropped. */
const SWEEP_MS = 250;

/** Counts requests and offences. Outlives a reload: `use` applies the next configuration's rules. */
export class Limiting {
  /** Decides about each request. */
  readonly store: limits.LimitStore;
  /** Counters of this process: the store itself, or its stand-in while the shared one is unreachable. */
  readonly memory: limits.LocalStore;
  /** The shared store; `null` if limits are counted only in this process. */
  readonly shared: SharedStore | null;
  readonly restrictions: Restrictions;
  /** The clients that limits.yaml lists as blocked; `null` if it lists none. */
  blocked: Blocked | null = null;
  readonly invalidRequests: limits.InvalidRequests;
  readonly webhookNotFound: limits.WebhookNotFound;
  readonly ignoredRefusals: limits.IgnoredRefusals;
  /** Shows and resets what callers have consumed. */
  readonly allowances: Allowances;
  readonly listener: core.LimitListener;
  /** This thread's role in its process; `null` if it is alone. */
  readonly #thread: ThreadPart | null;
  /** How gateways inform each other; `null` if there is only one. */
  readonly #replication: Replication | null;
  /** Whether revocations and restrictions are still known after a restart. */
  readonly outlivesRestart: boolean;
  /** Facts exchanged by gateways, and kept by this one across a restart; `null` if neither. */
  readonly #facts: core.Facts | null;
  /** Adds up offences across all gateways. */
  readonly #feed: limits.OffenceFeed | null;
  readonly #restricting: Restricting;
  #buckets: LimitsModel['buckets'] = [];
  readonly #clock: core.TimerClock;
  #sweeper: core.Timer | null = null;

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
      /** This thread's role in its process. Default: it is alone. */
      readonly thread?: ThreadPart | undefined;
      /** Keeps facts across a restart. Default: nothing is kept. */
      readonly state?: Pick<KeptState, 'keep' | 'isWritten'> | null | undefined;
      /** Creates the permits of requests in flight, if threads count them together. */
      readonly newPermits?: core.NewPermits | undefined;
      /** The requests in flight that other threads reported. Default: none. */
      readonly inFlightElsewhere?: (() => readonly limits.InFlightCount[]) | undefined;
      /** Where requests and offences are counted. Default: memory of this thread. */
      readonly memory?: core.TableMemory | undefined;
      /** The counters on this machine. Default: those in this memory. */
      readonly counters?: limits.LocalStore | undefined;
    },
  ) {
    const { clock, randomBytes, listener, storeListener, memory, thread = null } = dependencies;
    const { keysPerCaller } = model;
    this.#thread = thread;
    this.listener = listener;
    const { newPermits, inFlightElsewhere, counters } = dependencies;
    const inFlight = newPermits && new SharedInFlight(newPermits, inFlightElsewhere);
    this.memory =
      counters ?? memoryCounters({ clock, randomBytes, memory, maxKeys: dependencies.limitKeys, inFlight });
    this.shared =
      dependencies.newSharedStore?.({
        clock,
        randomBytes,
        listener: storeListener,
        local: this.memory,
        keysPerCaller,
        thread,
      }) ?? null;
    this.store = this.shared?.limits ?? this.memory;
    this.#clock = clock;
    this.#replication = thread?.join(this.shared) ?? this.shared;
    const sharedFacts = this.#replication?.facts ?? null;
    const facts = dependencies.state?.keep(sharedFacts) ?? sharedFacts;
    this.#facts = facts;
    this.outlivesRestart = this.shared !== null || dependencies.state?.isWritten === true;
    const voice = this.#isVoice ? listener : SILENT;
    this.restrictions = this.#makeRestrictions(voice, dependencies.limitKeys);
    this.#feed = this.#makeFeed();
    const maxKeys = tableSizeFor(DEFAULT_MAX_EVENT_KEYS, dependencies.limitKeys);
    const { restrictions } = this;
    this.#restricting = new Restricting({
      ...{ clock, randomBytes, memory, restrictions, maxKeys },
      tally: this.#feed,
    });
    if (thread !== null && facts !== null) this.shared?.shareHealth(facts);
    this.invalidRequests = this.#restricting.invalidRequests;
    this.webhookNotFound = this.#restricting.webhookNotFound;
    this.ignoredRefusals = this.#restricting.ignoredRefusals;
    this.allowances = new Allowances({
      store: (this.shared?.limits ?? this.memory).allowances,
      facts,
      randomBytes,
      forgetKnown: () => this.shared?.limits.forgetRefusals(),
      ignoredRefusals: this.ignoredRefusals,
    });
    this.use(model);
  }

  /** Throws an error, and changes nothing, if the memory allocated at startup has no room for this many limits. */
  use(model: LimitsModel): void {
    followLimits(this.memory, model);
    this.#buckets = model.buckets;
    if (this.shared !== null) this.shared.limits.keysPerCaller = model.keysPerCaller;
    this.#restricting.use(model);
    this.blocked = model.blocked === null ? null : new Blocked(model.blocked, model.neverRestrict);
    // Limits may have changed, and restrictions may have been lifted.
    this.shared?.limits.forgetRefusals();
  }

  /** Shares these revocations with the other gateways, if there are any. */
  shareRevocations(revocations: Revocations): void {
    if (this.#facts !== null) shareRevocations(this.#facts, revocations);
  }

  /** Whether no gateway has claimed this name in the last `forMs`. */
  async claim(name: string, forMs: number): Promise<boolean> {
    return this.#replication === null || this.#replication.claims.claim(name, forMs);
  }

  /** What the counters of this process hold, and how often room ran out here and in the shared store. */
  get counts(): limits.StoreCounts & { readonly concurrent: readonly limits.BucketInFlight[] } {
    const { counts, inFlight } = this.memory;
    return { ...counts, concurrent: bucketsInFlight(this.#buckets, inFlight) };
  }

  /** What is exchanged with other gateways. */
  get sharing() {
    return {
      untold: this.#facts?.outgoing ?? 0,
      adopted: this.#isVoice ? this.restrictions.adopted : 0,
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

  /** Whether this thread reports what all threads of its process know. */
  get #isVoice(): boolean {
    return this.#thread?.isMain !== false;
  }

  #makeRestrictions(listener: limits.RestrictionListener, limitKeys: number): Restrictions {
    const facts = this.#facts;
    const usual = {
      clock: this.#clock,
      listener,
      networkOf: networkOfKey,
      places: placesForCounters(limitKeys),
    };
    if (facts === null) return new Restrictions(usual);
    const restrictions = new Restrictions({
      ...usual,
      announce: restriction => announceRestriction(facts, restriction),
      announceLift: lift => announceLift(facts, lift),
      withdraw: restriction => withdrawRestriction(facts, restriction),
      thread: this.#thread && { isMain: this.#isVoice, met: restriction => announceMet(facts, restriction) },
    });
    shareRestrictions(facts, restrictions);
    return restrictions;
  }

  #makeFeed(): limits.OffenceFeed | null {
    if (this.#replication === null) return null;
    return this.#replication.feed((offence, { restrictForMs }) => {
      if (this.restrictions.isExempt(offence.key)) return;
      // If it is already restricted, the first gateway has set the end.
      if (!this.restrictions.isRestricted(offence)) this.restrictions.restrict(offence, restrictForMs);
    });
  }
}

/** Ignores all events: what all threads of a process know is reported by its main thread. */
const SILENT: limits.RestrictionListener = {
  restricted() {},
  prolonged() {},
  released() {},
  evicted() {},
};

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
  /** Facts exchanged by gateways; `null` if there is only one. */
  readonly facts: core.Facts | null;
  readonly randomBytes: core.RandomBytes;
  /** Makes the store ask again about keys that it knows to be exhausted. */
  readonly forgetKnown: () => void;
  readonly ignoredRefusals: limits.IgnoredRefusals;
}

/** Shows and resets what callers have consumed, for an operator. A reset applies to all gateways that share the limits. */
export class Allowances {
  readonly #dependencies: AllowancesDependencies;

  constructor(dependencies: AllowancesDependencies) {
    this.#dependencies = dependencies;
    if (dependencies.facts !== null) onReset(dependencies.facts, () => this.#forgetRefusals());
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
    const { store, facts, randomBytes } = this.#dependencies;
    const countedIn = await store.reset(limits, caller, main);
    this.#forgetRefusals();
    if (countedIn === 'redis' && facts !== null) announceReset(facts, randomBytes);
    return countedIn;
  }

  /** Forgets remembered refusals, which are repeated without asking and reveal who ignores them: they are no longer valid. */
  #forgetRefusals(): void {
    const { forgetKnown, ignoredRefusals } = this.#dependencies;
    forgetKnown();
    ignoredRefusals.forgetWaits();
  }
}
