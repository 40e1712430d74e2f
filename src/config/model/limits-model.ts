import type { AddressSet } from '../../http/index.ts';
import type { BucketHash, IgnoredRefusalsRule, LimitSet, OffenceRule } from '../../limits/index.ts';
import type { FailurePolicy, RedisOptions } from '../../redis/index.ts';
import type { RouteTable } from '../../routing/index.ts';

/** The kind of a caller, for limits. `address`: callers without a valid token. */
export type CallerClass = 'bot' | 'user' | 'address';

/** limits.yaml, compiled. */
export interface LimitsModel {
  /** For requests without a bucket: only the global limit. */
  readonly global: Readonly<Record<CallerClass, LimitSet>>;
  readonly routes: RouteTable<LimitRouteModel>;
  /** Null: off. */
  readonly invalidRequests: OffenceRule | null;
  readonly webhookNotFound: OffenceRule | null;
  readonly ignoredRefusals: IgnoredRefusalsRule | null;
  /** Networks that are never restricted. */
  readonly neverRestrict: AddressSet;
  /** Bucket keys that one caller may hold. */
  readonly keysPerCaller: number;
}

/** A line of `routes:` in limits.yaml. */
export interface LimitRouteModel {
  readonly bucket: BucketModel;
  /** Index of the bucket's main parameter among the path's; null: the bucket has none. */
  readonly mainAt: number | null;
}

/** A named group of routes that draws on one quota. */
export interface BucketModel {
  readonly name: string;
  readonly scope: 'user' | 'shared';
  readonly hash: BucketHash;
  /** With the global limit, and without it for exempt routes. */
  readonly sets: Readonly<Record<CallerClass, LimitSet>>;
  readonly exemptSets: Readonly<Record<CallerClass, LimitSet>>;
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
