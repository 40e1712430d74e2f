import { eachInSteps, type Kept, reuse, reuseInSteps, type Steps } from '../../core/index.ts';
import type { Limit, LimitRole, LimitSet } from '../../limits/index.ts';
import { ByClass, limitsIn, NO_LIMITS, RecentDigests, windowName, windowsOf } from '../../limits/index.ts';
import {
  type AddressKeying,
  AddressSet,
  DEFAULT_KEYING,
  parseTranslator,
  policyItem,
} from '../../wire/http/index.ts';
import type * as model from '../model/index.ts';
import { LimitClaims } from '../model/index.ts';
import { type RouteEntry, type RoutePattern, RouteTable } from '../routing/index.ts';
import { parseLimitRoute } from '../values/index.ts';
import { type CallerClaims, DEFAULT_CLAIMS, principalsOf } from './caller-claims.ts';
import { compileBucket, compileGlobal, withGlobal } from './compile-bucket.ts';
import type { LimitsConfig, OffenceConfig } from './limits-schema.ts';
import { claimsInLimits } from './named-claims.ts';

/** The compiled limits, and what the next ones take over. */
interface CompiledLimits {
  readonly model: model.LimitsModel;
  readonly kept: KeptLimits;
}

export interface KeptLimits {
  /** What buckets share, by all that they depend on and that is not written in each. */
  readonly shared: Kept<unknown, CommonToBuckets>;
  readonly buckets: ReadonlyMap<string, KeptBucket>;
  /** The table of all lines, by these in file order. */
  readonly table: Kept<readonly RouteEntry<model.LimitRouteModel>[], RouteTable<model.LimitRouteModel>>;
}

interface KeptBucket {
  /** By what is written of it and of its lines. */
  readonly bucket: Kept<unknown, model.BucketModel>;
  /** Its lines, which are new when it is. */
  readonly lines: Kept<readonly model.BucketModel[], readonly RouteEntry<model.LimitRouteModel>[]>;
}

/** The lines of `routes:`, by how they are written. */
export type KeptLines = Kept<readonly LimitsConfig['routes'][], WrittenLines>;

export interface WrittenLines {
  readonly patterns: ReadonlyMap<string, RoutePattern>;
  readonly ofBuckets: ReadonlyMap<string, readonly [string, LimitsConfig['routes'][string]][]>;
}

/** What all buckets of a file have in common. */
interface CommonToBuckets {
  readonly global: ReturnType<typeof compileGlobal>;
  readonly preflights: ReturnType<typeof compileGlobal>;
  readonly digests: RecentDigests;
}

/**
 * Compiles valid limits for the data plane. `classes` defines how callers are identified.
 *
 * @param before what was compiled of the previous limits; `null` if there were none
 */
export function* compileLimits(
  config: LimitsConfig,
  { patterns, ofBuckets }: WrittenLines,
  classes: readonly CallerClaims[] = DEFAULT_CLAIMS,
  before: KeptLimits | null = null,
): Steps<CompiledLimits> {
  const { buckets: written, routes, ...others } = config;
  const shared = reuse<unknown, CommonToBuckets>(before?.shared, others, () => ({
    global: compileGlobal(config),
    preflights: compileGlobal(config, true),
    digests: new RecentDigests(),
  }));
  const known = shared === before?.shared ? before : null;
  const buckets = new Map<string, KeptBucket>();
  const inOrder = new Map<string, Iterator<RouteEntry<model.LimitRouteModel>, undefined>>();
  for (const [name, ofFile] of Object.entries(written)) {
    const own = ofBuckets.get(name) ?? [];
    const old = known?.buckets.get(name);
    const bucket = reuse<unknown, model.BucketModel>(old?.bucket, [ofFile, own], () => {
      const ofLines = own.flatMap(([line]) => patterns.get(line) ?? []);
      const largestCost = Math.max(1, ...own.map(([, { cost }]) => costAtFirst(cost)));
      const isPriced = own.some(([, { cost }]) => typeof cost === 'object');
      return compileBucket(name, ofFile, { lines: ofLines, largestCost, isPriced, config, ...shared.part });
    });
    const lines = yield* reuseInSteps(old?.lines, [bucket.part], () =>
      eachInSteps(own, line => compileLine(line, patterns, bucket.part)),
    );
    buckets.set(name, { bucket, lines });
    inOrder.set(name, lines.part.values());
    yield;
  }
  const lines = yield* eachInSteps(patterns.keys(), line => {
    const next = inOrder.get(routes[line]?.bucket ?? '')?.next().value;
    if (next === undefined) throw new Error(`the line ${line} was not checked: there is no such bucket`);
    return next;
  });
  yield;
  const table = yield* reuseInSteps(before?.table, lines, () => RouteTable.inSteps(lines));
  const kept = { shared, buckets, table };
  yield;
  return { kept, model: modelOf(config, classes, kept, ofBuckets) };
}

/** Reads the lines of `routes:`. */
export function readLines(lines: LimitsConfig['routes'], before?: KeptLines): Steps<KeptLines> {
  return reuseInSteps(before, [lines], function* () {
    const patterns = new Map<string, RoutePattern>();
    for (const line of Object.keys(lines)) {
      patterns.set(line, before?.part.patterns.get(line) ?? parseLimitRoute(line));
      yield;
    }
    return { patterns, ofBuckets: Map.groupBy(Object.entries(lines), ([, { bucket }]) => bucket) };
  });
}

function modelOf(
  config: LimitsConfig,
  classes: readonly CallerClaims[],
  { shared, buckets, table }: KeptLimits,
  ofBuckets: WrittenLines['ofBuckets'],
): model.LimitsModel {
  const { global, preflights } = shared.part;
  const named = claimsInLimits(config);
  const keying = keyingOf(config);
  const blocked = [...config.blocked.addresses, ...config.blocked.callers];
  return {
    global: new ByClass(global.names, name => withGlobal(NO_LIMITS, global.of(name))),
    preflights: withGlobal(NO_LIMITS, preflights.address),
    claims:
      named.groups.length + named.numbers.length === 0
        ? null
        : new LimitClaims(
            named,
            classes.some(({ issuer }) => issuer !== null),
          ),
    routes: table.part,
    buckets: Array.from(buckets.values(), ({ bucket }) => bucket.part).filter(({ name }) =>
      ofBuckets.has(name),
    ),
    invalidRequests: offenceRule(config.invalid_requests),
    webhookNotFound: offenceRule(config.webhook_not_found),
    ignoredRefusals: offenceRule(config.ignored_refusals),
    neverRestrict: listedIn(config.never_restrict, config.ipv6_prefix, classes),
    blocked: blocked.length === 0 ? null : listedIn(blocked, config.ipv6_prefix, classes),
    patienceMs: config.patience,
    keying,
    writtenKeying: keying,
    keysPerCaller: config.keys_per_caller,
    policies: config.headers.includes('ratelimit') ? new SetPolicies(config) : null,
  };
}

/** Returns which addresses count as one. */
export function keyingOf(config: Pick<LimitsConfig, 'ipv6_prefix' | 'nat64_prefixes'>): AddressKeying {
  const { ipv6_prefix: ipv6Prefix, nat64_prefixes: prefixes } = config;
  if (ipv6Prefix === DEFAULT_KEYING.ipv6Prefix && prefixes.length === 0) return DEFAULT_KEYING;
  return { ipv6Prefix, translators: prefixes.map(parseTranslator) };
}

type Cost = LimitsConfig['routes'][string]['cost'];

/** What a request draws when it is admitted. */
function costAtFirst(cost: Cost): number {
  return typeof cost === 'object' ? cost.reserve : cost;
}

function priceOf({ response_field: field, most, pass: passes }: Exclude<Cost, number>): model.PriceModel {
  return { field: field.toLowerCase(), most, passes };
}

function compileLine(
  [line, { cost }]: readonly [string, LimitsConfig['routes'][string]],
  patterns: WrittenLines['patterns'],
  bucket: model.BucketModel,
): RouteEntry<model.LimitRouteModel> {
  const pattern = patterns.get(line) ?? parseLimitRoute(line);
  const mainAt = bucket.main === null ? null : pattern.parameters.indexOf(bucket.main);
  if (mainAt === -1) throw new Error(`the line ${line} was not checked: it lacks the main parameter`);
  const price = typeof cost === 'object' ? priceOf(cost) : null;
  return { pattern, value: { line, bucket, mainAt, cost: costAtFirst(cost), price } };
}

function offenceRule<Rule extends Exclude<OffenceConfig, 'off'>>(config: Rule | 'off') {
  if (config === 'off') return null;
  const { limit: quota, restrict_for: restrictForMs, ...more } = config;
  return { quota, restrictForMs, ...more };
}

function listedIn(
  entries: LimitsConfig['never_restrict'],
  prefix: number,
  classes: readonly CallerClaims[],
): model.Listed {
  const callers = entries.filter(entry => typeof entry !== 'string');
  return {
    addresses: new AddressSet(
      entries.filter(entry => typeof entry === 'string'),
      prefix,
    ),
    callers: new Set(callers.flatMap(caller => principalsOf(caller, classes))),
  };
}

/** The name of the global limit among policies. No bucket may have it (limit-checks.ts). */
const GLOBAL = 'global';
const ROLES: readonly LimitRole[] = ['caller', 'resource', 'global'];

/** Formats the response fields for each set of limits once, so that no request has to. */
class SetPolicies implements model.LimitPolicies {
  readonly #config: LimitsConfig;
  /** Weak, because claims in tokens create further sets, which come and go. */
  readonly #known = new WeakMap<LimitSet, model.LimitPolicyModel>();

  constructor(config: LimitsConfig) {
    this.#config = config;
  }

  get(set: LimitSet): model.LimitPolicyModel {
    let policy = this.#known.get(set);
    if (policy === undefined) {
      const { buckets, bucket_hash: hashing } = this.#config;
      const bucket = (set.caller ?? set.group ?? set.resource)?.bucket ?? '';
      const hasMain = Object.hasOwn(buckets, bucket) && buckets[bucket]?.main !== undefined;
      policy = policyOf(set, bucket, hashing === 'value' && hasMain);
      this.#known.set(set, policy);
    }
    return policy;
  }
}

/** Describes the limits that can refuse. Limits in shadow are not shown to clients. */
function policyOf(set: LimitSet, bucket: string, isPartitioned: boolean): model.LimitPolicyModel {
  const ofRole = { caller: bucket, group: `${bucket}/group`, resource: `${bucket}/resource`, global: GLOBAL };
  // One of several windows is named by its period as well.
  const nameOf = (limit: Limit) => {
    const { [limit.role]: name } = ofRole;
    return set[limit.role]?.more.length === 0 ? name : `${name}/${windowName(limit)}`;
  };
  const names = new Map(limitsIn(set).map(limit => [limit.identity, nameOf(limit)]));
  const listOf = (roles: readonly LimitRole[]) =>
    roles
      .flatMap(role => windowsOf(set[role]))
      .map(limit => policyItem(nameOf(limit), limit.units, limit.periodMs))
      .join(', ');
  return { list: listOf(ROLES), listWithGroup: listOf(['group', ...ROLES]), names, isPartitioned };
}
