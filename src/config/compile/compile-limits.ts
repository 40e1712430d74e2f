import { type IgnoredRefusalsRule, NO_LIMITS, type OffenceRule, RecentDigests } from '../../limits/index.ts';
import { type RouteEntry, type RoutePattern, RouteTable } from '../../routing/index.ts';
import type { BucketModel, LimitRouteModel, LimitsModel } from '../model/index.ts';
import {
  type BucketConfig,
  type LimitsConfig,
  type OffenceConfig,
  parseLimitRoute,
} from '../schema/index.ts';
import { type CallerClaims, DEFAULT_CLAIMS } from './caller-claims.ts';
import { compileBucket } from './compile-bucket.ts';
import { compileGlobal, ofEachClass, withGlobal } from './compile-global.ts';
import { blockedIn, listedIn } from './compile-listed.ts';
import { compilePolicies } from './compile-policies.ts';

/** The compiled limits, and their routes in file order, which a route table cannot list. */
export interface CompiledLimits {
  readonly model: LimitsModel;
  readonly routes: readonly RouteEntry<LimitRouteModel>[];
}

/** Compiles valid limits for the data plane. `classes`: how callers are identified. */
export function compileLimits(
  config: LimitsConfig,
  classes: readonly CallerClaims[] = DEFAULT_CLAIMS,
): CompiledLimits {
  const global = compileGlobal(config);
  const lines = Object.entries(config.routes).map(([line, name]) => ({
    line,
    name,
    pattern: parseLimitRoute(line),
  }));
  const linesOf = Map.groupBy(lines, ({ name }) => name);
  const digests = new RecentDigests();
  const buckets = new Map(
    Object.entries(config.buckets).map(([name, bucket]) => {
      const patterns = (linesOf.get(name) ?? []).map(({ pattern }) => pattern);
      return [name, compileBucket(name, bucket, { lines: patterns, config, global, digests })];
    }),
  );
  const routes = lines.map(({ line, name, pattern }) =>
    compileRoute(line, pattern, buckets.get(name), config.buckets[name]),
  );
  const used = [...buckets.values()].filter(({ name }) => linesOf.has(name));
  const globalSets = ofEachClass(callerClass => withGlobal(NO_LIMITS, global[callerClass]));
  return {
    routes,
    model: {
      global: globalSets,
      routes: new RouteTable(routes),
      buckets: used,
      invalidRequests: offenceRule(config.invalid_requests),
      webhookNotFound: offenceRule(config.webhook_not_found),
      ignoredRefusals: ignoredRefusalsRule(config.ignored_refusals),
      neverRestrict: listedIn(config.never_restrict, classes),
      blocked: blockedIn(config.blocked, classes),
      patienceMs: config.patience,
      keysPerCaller: config.keys_per_caller,
      policies: compilePolicies(config, globalSets, used),
    },
  };
}

function compileRoute(
  line: string,
  pattern: RoutePattern,
  bucket: BucketModel | undefined,
  config: BucketConfig | undefined,
): RouteEntry<LimitRouteModel> {
  if (bucket === undefined || config === undefined)
    throw new Error(`the line ${line} was not checked: there is no such bucket`);
  const mainAt = config.main === undefined ? null : pattern.parameters.indexOf(config.main);
  if (mainAt === -1) throw new Error(`the line ${line} was not checked: it lacks the main parameter`);
  return { pattern, value: { line, bucket, mainAt } };
}

function offenceRule(config: OffenceConfig): OffenceRule | null {
  if (config === 'off') return null;
  return { quota: config.limit, restrictForMs: config.restrict_for, shadow: config.shadow };
}

function ignoredRefusalsRule(config: LimitsConfig['ignored_refusals']): IgnoredRefusalsRule | null {
  if (config === 'off') return null;
  const { limit, restrict_for: restrictForMs, shadow, addresses } = config;
  return { quota: limit, restrictForMs, shadow, addresses };
}
