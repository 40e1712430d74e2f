import type * as limits from '../../limits/index.ts';
import type { AddressKeying, AddressSet } from '../../wire/http/index.ts';
import type { BucketSettingModels } from '../policies/index.ts';
import type { Routes } from '../routing/index.ts';
import type { LimitClaims } from './limit-claims.ts';

/** limits.yaml, compiled. */
export interface LimitsModel {
  /** For requests without a bucket: the global limit only. */
  readonly global: limits.ByClass<limits.LimitSet>;
  /** For preflights that the gateway answers: the numbers of an address's global limit, counted on their own. */
  readonly preflights: limits.LimitSet;
  /** Reads the limit claims in tokens; `null` if no limit depends on a claim. */
  readonly claims: LimitClaims | null;
  readonly routes: Routes<LimitRouteModel>;
  /** The buckets that routes use, in the order of the file. */
  readonly buckets: readonly BucketModel[];
  /** The rules for restrictions; each is `null` if it is off. */
  readonly invalidRequests: limits.OffenceRule | null;
  readonly webhookNotFound: limits.OffenceRule | null;
  readonly ignoredRefusals: limits.IgnoredRefusalsRule | null;
  readonly neverRestrict: Listed;
  /** The clients that are refused while this configuration is in use; `null` if there are none. */
  readonly blocked: Listed | null;
  /** Requests with a wait of at most this are held instead of refused; `null` if off. */
  readonly patienceMs: number | null;
  /** Which addresses count as one, until this process ends. */
  readonly keying: AddressKeying;
  /** Which addresses count as one according to the file, for the next start. */
  readonly writtenKeying: AddressKeying;
  /** Maximum bucket keys that one caller may hold. */
  readonly keysPerCaller: number;
  /** The content of `RateLimit` and `RateLimit-Policy` for each set of limits; `null` if responses do not carry them. */
  readonly policies: LimitPolicies | null;
}

/** A global limit that applies by default because no limits file names it. */
export interface DefaultLimit {
  /** The key under `global` that would set it. */
  readonly key: string;
  /** The quota, such as `50/1s`. */
  readonly quota: string;
}

/** Looks up the policy fields of responses by set of limits. */
export interface LimitPolicies {
  get(set: limits.LimitSet): LimitPolicyModel;
}

/** The policy fields of responses for a set of limits (docs/contract.md, 4.10). */
export interface LimitPolicyModel {
  /** The value of `RateLimit-Policy`: all limits of the set except that of the group. */
  readonly list: string;
  /** The value if the limit of the group refused. */
  readonly listWithGroup: string;
  /** The name of each limit in `RateLimit`, by its identity. */
  readonly names: ReadonlyMap<string, string>;
  /** Whether each main value of the bucket has its own quota. */
  readonly isPartitioned: boolean;
}

/** A list of clients: networks, and callers by their principals. */
export interface Listed {
  readonly addresses: AddressSet;
  readonly callers: ReadonlySet<string>;
}

/** A line of `routes:` in limits.yaml. */
export interface LimitRouteModel {
  readonly line: string;
  readonly bucket: BucketModel;
  /** The index of the bucket's main parameter among the path's; `null` if the bucket has none. */
  readonly mainAt: number | null;
  /** The cost of one request: in units of each limit of the bucket or, if it has quotas that count costs, of those only. */
  readonly cost: number;
  /**
   * How the response names the cost of its request; `null` if the cost is known before. `cost` is then what is consumed at first.
   */
  readonly price: PriceModel | null;
}

/** A cost that the response names. */
export interface PriceModel {
  /** The header field or trailer, in lower case. */
  readonly field: string;
  readonly most: number;
  readonly passes: boolean;
}

/** The limits on requests to a bucket. */
export interface BucketLimits {
  /** The sets of limits for each class: with the global limit, and without it for exempt routes. */
  readonly sets: limits.ByClass<limits.LimitSet>;
  readonly exemptSets: limits.ByClass<limits.LimitSet>;
  /**
   * Chooses among the limits of one of these sets by the claims in the caller's token; `null` if all callers have the same limits.
   */
  readonly claimed: limits.ClaimedLimits | null;
}

/** A named group of routes whose requests consume one quota. */
export interface BucketModel extends BucketLimits, BucketSettingModels {
  readonly name: string;
  /** The name of its main parameter; `null` if it has none. */
  readonly main: string | null;
  readonly hash: limits.BucketHash;
  /** Whether it has a quota that counts costs. Its other quotas then count requests. */
  readonly countsCosts: boolean;
  /** All limits of its own, including those in shadow, each once. */
  readonly limits: readonly limits.Limit[];
  /** The share of callers with different limits; `null` if all callers of a class have the same limits. */
  readonly rollout: Rollout | null;
}

/** A roll-out: the bucket limits only a share of callers, or has other numbers for them. */
export interface Rollout {
  readonly share: limits.CallerShare;
  /** The limits of callers outside the share: in shadow, or with the numbers in force while others are tested on the share. */
  readonly others: BucketLimits;
  /** Whether the numbers under `shadow` are enforced for the share. */
  readonly triesNumbers: boolean;
}
