import { isPrincipal } from '../auth/index.ts';
import type { LimitsModel } from '../config/index.ts';
import type { Clock, LimitListener } from '../core/index.ts';
import { addressOfKey, networkOfKey } from '../http/index.ts';
import {
  type Client,
  IgnoredRefusals,
  InvalidRequests,
  type OffenceTally,
  type Restrictions,
  ShadowRestrictions,
  WebhookNotFound,
} from '../limits/index.ts';

export interface RestrictingDependencies {
  readonly clock: Clock;
  readonly listener: Pick<LimitListener, 'shadowRestricted'>;
  readonly restrictions: Restrictions;
  /** Adds up offences across all gateways; null: this process counts alone. */
  readonly tally: OffenceTally | null;
  /** Most keys counted, of each offence. */
  readonly maxKeys: number;
}

/** Counts offences, and restricts the senders of too many. Outlives a reload. */
export class Restricting {
  readonly restrictions: Restrictions;
  /** Whom the rules in shadow would restrict. */
  readonly shadowRestrictions: ShadowRestrictions;
  readonly invalidRequests: InvalidRequests;
  readonly webhookNotFound: WebhookNotFound;
  readonly ignoredRefusals: IgnoredRefusals;

  constructor({ clock, listener, restrictions, tally, maxKeys }: RestrictingDependencies) {
    this.restrictions = restrictions;
    this.shadowRestrictions = new ShadowRestrictions({
      clock,
      began: ({ kind, reason, key }, forMs) =>
        listener.shadowRestricted({ kind, reason, key, untilEpochMs: Math.floor(clock.epochMs()) + forMs }),
      networkOf: networkOfKey,
    });
    const counting = { clock, tally, maxKeys, shadow: this.shadowRestrictions };
    this.invalidRequests = new InvalidRequests(restrictions, counting);
    this.webhookNotFound = new WebhookNotFound(restrictions, counting);
    this.ignoredRefusals = new IgnoredRefusals(restrictions, counting);
  }

  /** Applies the rules of a configuration. */
  use(model: LimitsModel): void {
    this.invalidRequests.use(model.invalidRequests);
    this.webhookNotFound.use(model.webhookNotFound);
    this.ignoredRefusals.use(model.ignoredRefusals);
    const isSpared = (key: string) => isNeverRestricted(key, model);
    this.restrictions.neverRestrict(isSpared, namedIn(model));
    this.shadowRestrictions.spare(isSpared);
  }

  /** Drops what has expired. Call it a few times a second. */
  sweep(): void {
    this.restrictions.sweep();
    this.shadowRestrictions.sweep();
  }
}

/** `key`: a principal, or that of an address. */
function isNeverRestricted(key: string, { neverRestrict: { addresses, callers } }: LimitsModel): boolean {
  return isPrincipal(key) ? callers.has(key) : addresses.has(addressOfKey(key));
}

/** Whom the list names one by one. */
function* namedIn({ neverRestrict: { addresses, callers } }: LimitsModel): Generator<Client> {
  for (const key of addresses.keys) yield { kind: 'address', key };
  for (const key of callers) yield { kind: 'principal', key };
}
