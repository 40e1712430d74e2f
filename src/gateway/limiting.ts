import type { LimitsModel, StoreModel } from '../config/index.ts';
import type { Clock, LimitListener, Random, StoreListener } from '../core/index.ts';
import {
  IgnoredRefusals,
  InvalidRequests,
  type LimitStore,
  MemoryStore,
  Restrictions,
  type StoreCounts,
  WebhookNotFound,
} from '../limits/index.ts';
import { SharedStore } from './shared-store.ts';

/** How often what is over is forgotten. */
const SWEEP_MS = 250;

/** What counts requests and offences. Outlives a reload: `use` gives it the rules of the next configuration. */
export class Limiting {
  /** Decides about requests. */
  readonly store: LimitStore;
  /** Counters of this process: the store itself, or what stands in for it while it is out of reach. */
  readonly memory: MemoryStore;
  /** Null: limits are counted in this process alone. */
  readonly shared: SharedStore | null;
  readonly restrictions: Restrictions;
  readonly invalidRequests: InvalidRequests;
  readonly webhookNotFound: WebhookNotFound;
  readonly ignoredRefusals: IgnoredRefusals;
  readonly listener: LimitListener;
  #sweeper: NodeJS.Timeout | null = null;

  constructor(
    model: LimitsModel,
    store: StoreModel,
    parts: {
      readonly clock: Clock;
      readonly random: Random;
      readonly listener: LimitListener;
      readonly storeListener: StoreListener;
      /** Counters held in this process at most. */
      readonly limitKeys: number;
    },
  ) {
    const { clock, listener, storeListener } = parts;
    const { keysPerCaller } = model;
    this.listener = listener;
    this.memory = new MemoryStore({ ...parts, maxKeys: parts.limitKeys, keysPerCaller });
    this.shared =
      store.kind === 'memory'
        ? null
        : new SharedStore(store, { clock, listener: storeListener, local: this.memory, keysPerCaller });
    this.store = this.shared?.limits ?? this.memory;
    this.restrictions = new Restrictions({ clock, listener });
    this.invalidRequests = new InvalidRequests(this.restrictions, parts);
    this.webhookNotFound = new WebhookNotFound(this.restrictions, parts);
    this.ignoredRefusals = new IgnoredRefusals(this.restrictions, parts);
    this.use(model);
  }

  use(model: LimitsModel): void {
    this.memory.keysPerCaller = model.keysPerCaller;
    if (this.shared !== null) {
      this.shared.limits.keysPerCaller = model.keysPerCaller;
      this.shared.limits.forgetRefusals();
    }
    this.invalidRequests.use(model.invalidRequests);
    this.webhookNotFound.use(model.webhookNotFound);
    this.ignoredRefusals.use(model.ignoredRefusals);
    this.restrictions.neverRestrict(key => isNeverRestricted(key, model));
  }

  /** What the counters of this process hold, and what was done for want of room here and in the shared store. */
  get counts(): StoreCounts {
    const { counts } = this.memory;
    return {
      ...counts,
      callerOverflows: counts.callerOverflows + (this.shared?.limits.callerOverflows ?? 0),
    };
  }

  start(): void {
    this.shared?.start();
    this.#sweeper = setInterval(() => {
      this.memory.sweep();
      this.restrictions.sweep();
    }, SWEEP_MS);
    this.#sweeper.unref();
  }

  stop(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.shared?.stop();
  }
}

/** The key of an IPv6 address is its network; the list is asked for the network's own address. */
function isNeverRestricted(key: string, { neverRestrict }: LimitsModel): boolean {
  return neverRestrict.has(key.replace(/\/64$/, ''));
}
