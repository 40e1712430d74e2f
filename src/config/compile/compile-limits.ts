import { AddressSet } from '../../http/index.ts';
import {
  BucketHash,
  defineLimit,
  type IgnoredRefusalsRule,
  type Limit,
  NO_LIMITS,
  type OffenceRule,
  type Quota,
  RecentDigests,
} from '../../limits/index.ts';
import { type RouteEntry, RouteTable } from '../../routing/index.ts';
import type { BucketModel, CallerClass, LimitRouteModel, LimitsModel } from '../model/index.ts';
import {
  type BucketConfig,
  type LimitsConfig,
  type OffenceConfig,
  parseLimitRoute,
} from '../schema/index.ts';

/** The compiled limits, and their routes in file order, which a route table cannot list. */
export interface CompiledLimits {
  readonly model: LimitsModel;
  readonly routes: readonly RouteEntry<LimitRouteModel>[];
}

/**
 * The keys of a bucket that set the quota of a class; the first one present counts. Bots and addresses without a quota of their
 * own get that of users, each counted alone. Users without one are not limited.
 */
export const QUOTA_KEYS: Readonly<Record<CallerClass, readonly CallerClass[]>> = {
  bot: ['bot', 'user'],
  user: ['user'],
  address: ['address', 'user'],
};

/** Compiles valid limits for the data plane. */
export function compileLimits(config: LimitsConfig): CompiledLimits {
  const global = compileGlobal(config);
  const lines = Object.entries(config.routes);
  const linesOf = Map.groupBy(lines, ([, name]) => name);
  const digests = new RecentDigests();
  const buckets = new Map(
    Object.entries(config.buckets).map(([name, bucket]) => {
      const shared = (linesOf.get(name)?.length ?? 0) > 1;
      return [name, compileBucket(name, bucket, { shared, config, global, digests })];
    }),
  );
  const routes = lines.map(([line, name]) => compileRoute(line, buckets.get(name), config.buckets[name]));
  return {
    routes,
    model: {
      global: ofEachClass(callerClass => ({ ...NO_LIMITS, global: global[callerClass] })),
      routes: new RouteTable(routes),
      invalidRequests: offenceRule(config.invalid_requests),
      webhookNotFound: offenceRule(config.webhook_not_found),
      ignoredRefusals: ignoredRefusalsRule(config.ignored_refusals),
      neverRestrict: new AddressSet(config.never_restrict),
      keysPerCaller: config.keys_per_caller,
    },
  };
}

type PerClass<T> = Readonly<Record<CallerClass, T>>;

function ofEachClass<T>(make: (callerClass: CallerClass) => T): PerClass<T> {
  return { bot: make('bot'), user: make('user'), address: make('address') };
}

function compileGlobal({ global, window_slack: windowSlackMs }: LimitsConfig): PerClass<Limit | null> {
  return ofEachClass(callerClass => {
    const quota = global === 'off' ? null : global[callerClass];
    if (quota === null) return null;
    return defineLimit({ role: 'global', bucket: '', main: null, algorithm: 'window', quota, windowSlackMs });
  });
}

function compileBucket(
  name: string,
  config: BucketConfig,
  {
    shared,
    config: { window_slack: windowSlackMs, bucket_hash: hashing },
    global,
    digests,
  }: {
    /** Whether several lines use the bucket. */
    readonly shared: boolean;
    readonly config: LimitsConfig;
    readonly global: PerClass<Limit | null>;
    readonly digests: RecentDigests;
  },
): BucketModel {
  const { main = null } = config;
  const algorithm = config.algorithm === 'fixed' ? 'window' : 'smooth';
  const limitOf = (role: 'caller' | 'resource', quota: Quota | undefined): Limit | null =>
    quota === undefined ? null : defineLimit({ role, bucket: name, main, algorithm, quota, windowSlackMs });
  const resource = limitOf('resource', config.resource);
  const exemptSets = ofEachClass(callerClass => {
    const key = QUOTA_KEYS[callerClass].find(candidate => config[candidate] !== undefined);
    return { ...NO_LIMITS, caller: key === undefined ? null : limitOf('caller', config[key]), resource };
  });
  return {
    name,
    scope: config.scope ?? (shared ? 'shared' : 'user'),
    hash: new BucketHash(name, hashing, digests),
    sets: ofEachClass(callerClass => ({ ...exemptSets[callerClass], global: global[callerClass] })),
    exemptSets,
  };
}

function compileRoute(
  line: string,
  bucket: BucketModel | undefined,
  config: BucketConfig | undefined,
): RouteEntry<LimitRouteModel> {
  if (bucket === undefined || config === undefined)
    throw new Error(`the line ${line} was not checked: there is no such bucket`);
  const pattern = parseLimitRoute(line);
  const mainAt = config.main === undefined ? null : pattern.parameters.indexOf(config.main);
  if (mainAt === -1) throw new Error(`the line ${line} was not checked: it lacks the main parameter`);
  return { pattern, value: { bucket, mainAt } };
}

function offenceRule(config: OffenceConfig): OffenceRule | null {
  return config === 'off' ? null : { quota: config.limit, restrictForMs: config.restrict_for };
}

function ignoredRefusalsRule(config: LimitsConfig['ignored_refusals']): IgnoredRefusalsRule | null {
  if (config === 'off') return null;
  return { quota: config.limit, restrictForMs: config.restrict_for, addresses: config.addresses };
}
