import type { LimitsModel } from '../config/index.ts';
import type { Clock, LimitListener, Random } from '../core/index.ts';
import {
  IgnoredRefusals,
  InvalidRequests,
  MemoryStore,
  Restrictions,
  WebhookNotFound,
} from '../limits/index.ts';

/** How often what is over is forgotten. */
const SWEEP_MS = 250;

/** What counts requests and offences. Outlives a reload: `use` gives it the rules of the next configuration. */
export class Limiting {
  readonly store: MemoryStore;
  readonly restrictions: Restrictions;
  readonly invalidRequests: InvalidRequests;
  readonly webhookNotFound: WebhookNotFound;
  readonly ignoredRefusals: IgnoredRefusals;
  readonly listener: LimitListener;
  #sweeper: NodeJS.Timeout | null = null;

  constructor(
    model: LimitsModel,
    parts: { readonly clock: Clock; readonly random: Random; readonly listener: LimitListener },
  ) {
    const { clock, listener } = parts;
    this.listener = listener;
    this.store = new MemoryStore({ ...parts, keysPerCaller: model.keysPerCaller });
    this.restrictions = new Restrictions({ clock, listener });
    this.invalidRequests = new InvalidRequests(this.restrictions, parts);
    this.webhookNotFound = new WebhookNotFound(this.restrictions, parts);
    this.ignoredRefusals = new IgnoredRefusals(this.restrictions, parts);
    this.use(model);
  }

  use(model: LimitsModel): void {
    this.store.keysPerCaller = model.keysPerCaller;
    this.invalidRequests.use(model.invalidRequests);
    this.webhookNotFound.use(model.webhookNotFound);
    this.ignoredRefusals.use(model.ignoredRefusals);
    this.restrictions.neverRestrict(key => isNeverRestricted(key, model));
  }

  start(): void {
    this.#sweeper = setInterval(() => {
      this.store.sweep();
      this.restrictions.sweep();
    }, SWEEP_MS);
    this.#sweeper.unref();
  }

  stop(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
  }
}

/** The key of an IPv6 address is its network; the list is asked for the network's own address. */
function isNeverRestricted(key: string, { neverRestrict }: LimitsModel): boolean {
  return neverRestrict.has(key.replace(/\/64$/, ''));
}
