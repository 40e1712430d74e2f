import type { CallerClass } from '../../core/index.ts';
import type { AddressSet } from '../../http/index.ts';
import type {
  BucketHash,
  CallerShare,
  IgnoredRefusalsRule,
  LimitRole,
  LimitSet,
  OffenceRule,
} from '../../limits/index.ts';
import type { FailurePolicy, RedisOptions } from '../../redis/index.ts';
import type { Routes } from '../../routing/index.ts';

/** limits.yaml, compiled. */
export interface LimitsModel {
  /** For requests without a bucket: only the global limit. */
  readonly global: Readonly<Record<CallerClass, LimitSet>>;
  readonly routes: Routes<LimitRouteModel>;
  /** Those that routes use, in the order of the file. */
  readonly buckets: readonly BucketModel[];
  /** Null: off. */
  readonly invalidRequests: OffenceRule | null;
  readonly webhookNotFound: OffenceRule | null;
  readonly ignoredRefusals: IgnoredRefusalsRule | null;
  /** Who is never restricted or blocked. */
  readonly neverRestrict: Listed;
  /** Who is refused for as long as this configuration serves; null: nobody. */
  readonly blocked: Listed | null;
  /** Requests whose wait is not longer are held until it is over; null: off. */
  readonly patienceMs: number | null;
  /** Bucket keys that one caller may hold. */
  readonly keysPerCaller: number;
  /** What `RateLimit` and `RateLimit-Policy` say about each set of limits; null: responses do not carry them. */
  readonly policies: ReadonlyMap<LimitSet, PolicyModel> | null;
}

/** What responses say about a set of limits (docs/contract.md, 4.10). */
export interface PolicyModel {
  /** The value of `RateLimit-Policy`: all limits of the set. */
  readonly list: string;
  /** What `RateLimit` calls each of them. */
  readonly names: Readonly<Record<LimitRole, string>>;
  /** Each main value of the bucket has a quota of its own, which clients can tell apart. */
  readonly isPartitioned: boolean;
}

/** Networks, and callers by their principals. */
export interface Listed {
  readonly addresses: AddressSet;
  readonly callers: ReadonlySet<string>;
}

/** A line of `routes:` in limits.yaml. */
export interface LimitRouteModel {
  /** As it is written. */
  readonly line: string;
  readonly bucket: BucketModel;
  /** Index of the bucket's main parameter among the path's; null: the bucket has none. */
  readonly mainAt: number | null;
}

/** What requests to a bucket draw on. */
export interface BucketLimits {
  /** With the global limit, and without it for exempt routes. */
  readonly sets: Readonly<Record<CallerClass, LimitSet>>;
  readonly exemptSets: Readonly<Record<CallerClass, LimitSet>>;
}

/** Which lines of limits.yaml lead to a bucket: one for one route, one with a wildcard that covers several, or several. */
export type ScopeReason = 'one_line' | 'wildcard' | 'several_lines';

/** A named group of routes that draws on one quota. */
export interface BucketModel extends BucketLimits {
  readonly name: string;
  /** The name of its main parameter; null: it has none. */
  readonly main: string | null;
  readonly scope: 'user' | 'shared';
  /** What the scope follows from, unless the file says it. */
  readonly scopeReason: ScopeReason;
  readonly hash: BucketHash;
  /** Null: the bucket treats all callers of a class alike. */
  readonly rollout: Rollout | null;
}

/** A bucket that holds for a share of callers only, or has other numbers for them. */
export interface Rollout {
  readonly share: CallerShare;
  /** For the callers outside the share: in shadow, or with the numbers that hold if other ones are tried on the share. */
  readonly others: BucketLimits;
  /** The share has the numbers of `shadow`. */
  readonly triesNumbers: boolean;
}

/** Where limits are counted: in each gateway alone, or in a Redis for all of them. */
export type StoreModel =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'redis';
      readonly options: RedisOptions;
      /** What decides while Redis is unavailable. */
      readonly policy: FailurePolicy;
      /** The assumed number of gateways until they have counted each other. */
      readonly replicas: number;
    };
