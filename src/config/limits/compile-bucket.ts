import type { Limit, LimitRole, LimitSet, Quota, RecentDigests } from '../../limits/index.ts';
import {
  BucketHash,
  ByClass,
  CallerShare,
  ClaimedLimits,
  defineConcurrency,
  defineLimit,
  NO_LIMITS,
  quotasOf,
} from '../../limits/index.ts';
import { type BucketLimits, type BucketModel, type CallerClass, limitsOfSets } from '../model/index.ts';
import { compileBucketSettings } from '../policies/index.ts';
import type { RoutePattern } from '../routing/index.ts';
import type { BucketConfig, LimitsConfig } from './limits-schema.ts';

/**
 * The keys of a bucket that set the quota of a class; the first one present counts. Bots and addresses without a quota of their
 * own get that of users, each counted alone. Users without one are not limited.
 */
export const QUOTA_KEYS: Readonly<Record<CallerClass, readonly CallerClass[]>> = {
  bot: ['bot', 'user'],
  user: ['user'],
  address: ['address', 'user'],
};

/** Where a bucket, or the global limit, sets the quota of a class: the first that is present counts. */
export function quotaPaths(callerClass: string): readonly (readonly string[])[] {
  if (isBuiltIn(callerClass)) return QUOTA_KEYS[callerClass].map(key => [key]);
  return [['classes', callerClass], ['user']];
}

interface BucketContext {
  /** The lines of limits.yaml that use the bucket. */
  readonly lines: readonly RoutePattern[];
  readonly largestCost: number;
  /** Whether the response tells the cost of any of these lines. */
  readonly isPriced: boolean;
  readonly config: LimitsConfig;
  readonly global: ByClass<GlobalLimits>;
  readonly digests: RecentDigests;
}

export function compileBucket(name: string, config: BucketConfig, context: BucketContext): BucketModel {
  const { lines, config: limits, digests } = context;
  const { enforce, shadow } = config;
  const triesNumbers = enforce < 100 && typeof shadow === 'object';
  const sets = setsOf(name, triesNumbers ? withShadowNumbers(config) : config, context);
  const rollout =
    enforce === 100
      ? null
      : {
          share: new CallerShare(name, enforce),
          others: setsOf(name, triesNumbers ? config : { ...config, shadow: true }, context),
          triesNumbers,
        };
  const ofOthers = rollout === null ? [] : rollout.others.exemptSets.all;
  return {
    name,
    main: config.main ?? null,
    ...compileBucketSettings(config, lines),
    hash: new BucketHash(name, limits.bucket_hash, digests),
    countsCosts: countsCosts(config),
    ...sets,
    limits: limitsOfSets([...sets.exemptSets.all, ...ofOthers]),
    rollout,
  };
}

/** Returns the bucket with the numbers under `shadow` in place of its own. */
export function withShadowNumbers(config: BucketConfig): BucketConfig {
  const { shadow } = config;
  if (typeof shadow === 'boolean') return config;
  const classes = { ...config.classes, ...shadow.classes };
  return { ...config, ...written(shadow), classes, shadow: false };
}

/** Whether a bucket has a quota of costs in force: then its other quotas count requests. */
function countsCosts({ user, bot, address, classes = {}, group, resource }: BucketConfig): boolean {
  const quotas = [user, bot, address, ...Object.values(classes), group?.limit, resource];
  return quotas.some(quota => quota !== undefined && quotasOf(quota).some(({ unit }) => unit === 'cost'));
}

/** Leaves out quotas that are undefined: they would hide the quotas that apply instead. */
function written(quotas: Exclude<BucketConfig['shadow'], boolean>): Partial<BucketConfig> {
  return Object.fromEntries(Object.entries(quotas).filter(([, quota]) => quota !== undefined));
}

function setsOf(name: string, config: BucketConfig, context: BucketContext): BucketLimits {
  const { config: limits, global, lines, largestCost, isPriced } = context;
  const { main = null, shadow } = config;
  const { algorithm } = compileBucketSettings(config, lines);
  const shared = {
    bucket: name,
    main,
    algorithm,
    windowSlackMs: limits.window_slack,
    largestCost,
    timeZone: limits.time_zone,
    returnsUnits: config.give_back !== undefined,
    isPriced,
  };
  const hasCostQuota = { held: countsCosts(config), tried: countsCosts(withShadowNumbers(config)) };
  const define = (role: LimitRole, quota: Quota | undefined, isTrial: boolean, claim?: string) =>
    quota === undefined
      ? null
      : defineLimit({
          ...shared,
          role,
          quota,
          isTrial,
          hasCostQuota: hasCostQuota[isTrial ? 'tried' : 'held'],
          ...(claim === undefined ? {} : { claim }),
        });
  const ofGroup = ({ group }: SharedQuotas, isTrial: boolean) =>
    define('group', group?.limit, isTrial, group?.claim);
  const concurrent =
    config.concurrent === undefined ? null : defineConcurrency(name, main, config.concurrent);
  const trials = typeof shadow === 'boolean' ? {} : shadow;
  const held = {
    group: ofGroup(config, false),
    resource: define('resource', config.resource, false),
    concurrent,
  };
  const tried = { group: ofGroup(trials, true), resource: define('resource', trials.resource, true) };
  const names = [...classesIn(config), ...classesIn(trials), ...global.names];
  const exemptSets = new ByClass(names, (callerClass): LimitSet => {
    const caller = define('caller', quotaOf(config, callerClass), false);
    if (shadow === true) return { ...NO_LIMITS, shadow: { ...NO_LIMITS, caller, ...held } };
    const triedCaller = define('caller', triedQuota(config, trials, callerClass), true);
    const set = { ...NO_LIMITS, caller, ...held };
    if (triedCaller === null && tried.group === null && tried.resource === null) return set;
    return { ...set, shadow: { ...NO_LIMITS, caller: triedCaller, ...tried } };
  });
  return {
    exemptSets,
    sets: new ByClass(names, callerClass => withGlobal(exemptSets.of(callerClass), global.of(callerClass))),
    claimed: claimedIn(config, exemptSets),
  };
}

type SharedQuotas = Pick<BucketConfig, 'group'>;

function claimedIn({ group, shadow }: BucketConfig, sets: ByClass<LimitSet>): ClaimedLimits | null {
  const ofGroup = group ?? (typeof shadow === 'boolean' ? undefined : shadow.group);
  const hasNumbers = sets.all.some(({ caller, shadow }) => (caller?.claim ?? shadow?.caller?.claim) != null);
  return ofGroup === undefined && !hasNumbers ? null : new ClaimedLimits(ofGroup?.claim ?? null);
}

/** The quotas of classes, as written in a bucket or the global limit; `null` is off. */
export interface WrittenQuotas<Each = Quota | null> extends Partial<Record<CallerClass, Each | undefined>> {
  readonly classes?: Readonly<Record<string, Each>> | undefined;
}

function classesIn({ classes = {} }: WrittenQuotas<unknown>): string[] {
  return Object.keys(classes);
}

/** The quotas that a class may have, in order of precedence; `undefined` where one is not written. */
function quotaChain<Each>(quotas: WrittenQuotas<Each>, callerClass: string): (Each | undefined)[] {
  const { classes = {} } = quotas;
  if (isBuiltIn(callerClass)) return QUOTA_KEYS[callerClass].map(key => quotas[key]);
  return [Object.hasOwn(classes, callerClass) ? classes[callerClass] : undefined, quotas.user];
}

function isBuiltIn(callerClass: string): callerClass is CallerClass {
  return Object.hasOwn(QUOTA_KEYS, callerClass);
}

/** The quota of a class, its own or the one it falls back to; `undefined` if there is none. */
export function quotaOf<Each>(quotas: WrittenQuotas<Each>, callerClass: string): Each | undefined {
  return quotaChain(quotas, callerClass).find(quota => quota !== undefined);
}

/** The quota that a class would get if the numbers under `shadow` were enforced; `undefined` if it would keep its own. */
function triedQuota(
  held: WrittenQuotas<unknown>,
  trials: WrittenQuotas<Quota>,
  callerClass: string,
): Quota | undefined {
  const own = quotaChain(held, callerClass);
  const tried = quotaChain(trials, callerClass);
  return tried[own.findIndex((quota, at) => quota !== undefined || tried[at] !== undefined)];
}

interface GlobalLimits {
  readonly held: Limit | null;
  readonly shadow: Limit | null;
}

const OFF: GlobalLimits = { held: null, shadow: null };

/** @param ofPreflights whether the limits are those of preflights, which have counters of their own. Default false */
export function compileGlobal(
  { global, window_slack: windowSlackMs, time_zone: timeZone }: LimitsConfig,
  ofPreflights = false,
): ByClass<GlobalLimits> {
  if (global === 'off') return new ByClass([], () => OFF);
  const limitOf = (quota: Quota | null | undefined, isTrial: boolean): Limit | null => {
    if (quota === null || quota === undefined) return null;
    const algorithm = 'window';
    const bucket = { role: 'global', bucket: '', main: null } as const;
    return defineLimit({ ...bucket, algorithm, quota, windowSlackMs, timeZone, isTrial, ofPreflights });
  };
  const { shadow } = global;
  const trials = typeof shadow === 'boolean' ? {} : shadow;
  return new ByClass([...classesIn(global), ...classesIn(trials)], callerClass => {
    const written = limitOf(quotaOf(global, callerClass), false);
    if (shadow === true) return { held: null, shadow: written };
    return { held: written, shadow: limitOf(triedQuota(global, trials, callerClass), true) };
  });
}

export function withGlobal(set: LimitSet, { held, shadow }: GlobalLimits): LimitSet {
  if (shadow === null) return { ...set, global: held };
  return { ...set, global: held, shadow: { ...(set.shadow ?? NO_LIMITS), global: shadow } };
}
