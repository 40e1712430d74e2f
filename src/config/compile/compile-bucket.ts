import type { Limit, LimitSet, Quota, RecentDigests } from '../../limits/index.ts';
import { BucketHash, CallerShare, defineLimit, NO_LIMITS } from '../../limits/index.ts';
import type { RoutePattern } from '../../routing/index.ts';
import type { BucketLimits, BucketModel, CallerClass } from '../model/index.ts';
import { compileBucketSettings } from '../policies/index.ts';
import type { BucketConfig, LimitsConfig } from '../schema/index.ts';

/**
 * The keys of a bucket that set the quota of a class; the first one present counts. Bots and addresses without a quota of their
 * own get that of users, each counted alone. Users without one are not limited.
 */
export const QUOTA_KEYS: Readonly<Record<CallerClass, readonly CallerClass[]>> = {
  bot: ['bot', 'user'],
  user: ['user'],
  address: ['address', 'user'],
};

/** The parts that the buckets of a configuration share. */
interface BucketContext {
  /** The lines of limits.yaml that lead to the bucket. */
  readonly lines: readonly RoutePattern[];
  /** The largest cost of these lines. */
  readonly largestCost: number;
  readonly config: LimitsConfig;
  readonly global: PerClass<GlobalLimits>;
  readonly digests: RecentDigests;
}

export function compileBucket(name: string, config: BucketConfig, context: BucketContext): BucketModel {
  const { lines, config: limits, digests } = context;
  const { enforce, shadow } = config;
  const triesNumbers = enforce < 100 && typeof shadow === 'object';
  const sets = setsOf(name, triesNumbers ? withTrials(config) : config, context);
  return {
    name,
    main: config.main ?? null,
    ...compileBucketSettings(config, lines),
    hash: new BucketHash(name, limits.bucket_hash, digests),
    ...sets,
    rollout:
      enforce === 100
        ? null
        : {
            share: new CallerShare(name, enforce),
            others: setsOf(name, triesNumbers ? config : { ...config, shadow: true }, context),
            triesNumbers,
          },
  };
}

/** Returns the bucket with the numbers under `shadow` in place of its own. */
export function withTrials(config: BucketConfig): BucketConfig {
  const { shadow } = config;
  return typeof shadow === 'boolean' ? config : { ...config, ...written(shadow), shadow: false };
}

/** Leaves out quotas that are undefined: they would hide those that hold. */
function written(quotas: Exclude<BucketConfig['shadow'], boolean>): Partial<BucketConfig> {
  return Object.fromEntries(Object.entries(quotas).filter(([, quota]) => quota !== undefined));
}

function setsOf(name: string, config: BucketConfig, context: BucketContext): BucketLimits {
  const { config: limits, global, lines, largestCost } = context;
  const { main = null, shadow } = config;
  const { algorithm } = compileBucketSettings(config, lines);
  const define = (role: 'caller' | 'resource', quota: Quota | undefined, isTrial: boolean): Limit | null => {
    if (quota === undefined) return null;
    const windowSlackMs = limits.window_slack;
    return defineLimit({
      ...{ role, bucket: name, main, algorithm, quota, windowSlackMs, isTrial, largestCost },
    });
  };
  const resource = define('resource', config.resource, false);
  const trials = typeof shadow === 'boolean' ? {} : shadow;
  const triedResource = define('resource', trials.resource, true);
  const exemptSets = ofEachClass((callerClass): LimitSet => {
    const caller = define('caller', quotaOf(config, callerClass), false);
    if (shadow === true) return { ...NO_LIMITS, shadow: { global: null, caller, group: null, resource } };
    const tried = define('caller', triedQuota(config, trials, callerClass), true);
    if (tried === null && triedResource === null) return { ...NO_LIMITS, caller, resource };
    return {
      ...NO_LIMITS,
      caller,
      resource,
      shadow: { global: null, caller: tried, group: null, resource: triedResource },
    };
  });
  return { exemptSets, sets: ofEachClass(name => withGlobal(exemptSets[name], global[name])) };
}

type ClassQuotas = Partial<Record<CallerClass, Quota | undefined>>;

function quotaOf(quotas: ClassQuotas, callerClass: CallerClass): Quota | undefined {
  const key = QUOTA_KEYS[callerClass].find(candidate => quotas[candidate] !== undefined);
  return key && quotas[key];
}

/** The quota that a class would get if the numbers under `shadow` held; `undefined` if it would keep its own. */
function triedQuota(held: ClassQuotas, trials: ClassQuotas, callerClass: CallerClass): Quota | undefined {
  const key = QUOTA_KEYS[callerClass].find(
    candidate => trials[candidate] !== undefined || held[candidate] !== undefined,
  );
  return key && trials[key];
}

export type PerClass<T> = Readonly<Record<CallerClass, T>>;

export function ofEachClass<T>(make: (callerClass: CallerClass) => T): PerClass<T> {
  return { bot: make('bot'), user: make('user'), address: make('address') };
}

/** The global limit of a class: the one that holds, and the one in shadow. */
interface GlobalLimits {
  readonly held: Limit | null;
  readonly shadow: Limit | null;
}

const OFF: GlobalLimits = { held: null, shadow: null };

export function compileGlobal({ global, window_slack: windowSlackMs }: LimitsConfig): PerClass<GlobalLimits> {
  const limitOf = (quota: Quota | null | undefined, isTrial: boolean): Limit | null => {
    if (quota === null || quota === undefined) return null;
    const algorithm = 'window';
    return defineLimit({ role: 'global', bucket: '', main: null, algorithm, quota, windowSlackMs, isTrial });
  };
  return ofEachClass(callerClass => {
    if (global === 'off') return OFF;
    const written = limitOf(global[callerClass], false);
    const { shadow } = global;
    if (typeof shadow === 'boolean')
      return shadow ? { held: null, shadow: written } : { held: written, shadow: null };
    return { held: written, shadow: limitOf(shadow[callerClass], true) };
  });
}

/** Adds the global limit to a set. */
export function withGlobal(set: LimitSet, { held, shadow }: GlobalLimits): LimitSet {
  if (shadow === null) return { ...set, global: held };
  return { ...set, global: held, shadow: { ...(set.shadow ?? NO_LIMITS), global: shadow } };
}
