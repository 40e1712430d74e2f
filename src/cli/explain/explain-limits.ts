import {
  type BucketModel,
  type CallerClass,
  callerClassesOf,
  drawsOnBuckets,
  type FilePlace,
  type IdentityModel,
  type LimitsModel,
  type LoadedConfig,
  type LoadedLimitRoute,
  type LoadedLimits,
  QUOTA_KEYS,
  type RouteModel,
} from '../../config/index.ts';
import { formatDuration } from '../../core/index.ts';
import { mainValue } from '../../http/index.ts';
import type { Limit } from '../../limits/index.ts';
import type { Row } from './row.ts';

/** The part of a routed request that limits depend on. */
export interface LimitedRequest {
  readonly method: string;
  /** Canonical. */
  readonly path: string;
  readonly route: RouteModel;
  /** Null: every class that the route allows. */
  readonly as: CallerClass | null;
}

/** Lists the limits on a request for each class of callers, and where they are written. */
export function describeLimits(request: LimitedRequest, { snapshot, limits }: LoadedConfig): Row[] {
  const { limits: model, identity } = snapshot;
  const match = model.routes.find(request.method, request.path);
  const line = limits.routes.find(({ value }) => value === match?.value);
  const { route, as } = request;
  const exempt = route.kind === 'forward' && route.globalLimitExempt;
  const context = { model, limits, line, exempt };
  const { callers, why } = callersOf(route, identity, as);
  const main = match === null || line === undefined ? null : describeBucket(line, match.params, limits);
  return [
    ...(main?.rows ?? [['bucket', 'none: no line of "routes" in limits.yaml matches']]),
    ...why.map((text): Row => ['caller', text]),
    ...callers.flatMap(callerClass => describeClass(callerClass, context)),
    ...withoutToken(route, as, context),
    ...(line === undefined ? [] : describeResource(line, main?.value ?? '', limits)),
    ...describePatience(model, limits),
  ];
}

function describePatience({ patienceMs }: LimitsModel, limits: LoadedLimits): Row[] {
  if (patienceMs === null) return [];
  const how = `held instead of refused where the wait is at most ${formatDuration(patienceMs)}`;
  return [['patience', `${how} (${formatPlace(limits.placeOf(['patience']))})`]];
}

/** Says why the request is refused for every caller, because its bucket cannot be determined; null: it can be. */
export function whyBucketRefuses(
  { method, path, route, as }: LimitedRequest,
  { snapshot, limits }: LoadedConfig,
): { readonly rows: Row[]; readonly why: string } | null {
  const match = snapshot.limits.routes.find(method, path);
  const line = limits.routes.find(({ value }) => value === match?.value);
  if (match === null || line === undefined) return null;
  if (as !== null && !drawsOnBuckets(route.authentication, as)) return null;
  const { rows, value } = describeBucket(line, match.params, limits);
  return value === null ? { rows, why: '400, the value of the main parameter is not UTF-8' } : null;
}

/** Describes the global limit of an address: the only limit on a request without a route. */
export function describeAddressLimit({ snapshot, limits }: LoadedConfig): Row[] {
  const context = { model: snapshot.limits, limits, line: undefined, exempt: false };
  return describeGlobal('address', context).map(text => ['as an address', text]);
}

interface Context {
  readonly model: LimitsModel;
  readonly limits: LoadedLimits;
  readonly line: LoadedLimitRoute | undefined;
  /** Whether the route is exempt from the global limit. */
  readonly exempt: boolean;
}

interface Callers {
  readonly callers: readonly CallerClass[];
  /** Why they differ from the class asked for. */
  readonly why: readonly string[];
}

/** Returns the caller classes to describe: those of the route, or what the class asked for counts as there. */
function callersOf(route: RouteModel, identity: IdentityModel | null, as: CallerClass | null): Callers {
  const hasBots = identity !== null && identity.accessTokens.bots !== null;
  const callers = callerClassesOf(route.authentication, hasBots);
  if (as === null) return { callers, why: [] };
  if (route.authentication === 'none') {
    const why = `the route ignores tokens, so a ${as} counts as its address`;
    return { callers, why: as === 'address' ? [] : [why] };
  }
  if (as === 'bot' && !hasBots)
    return { callers: ['user'], why: ['"access_tokens" has no rule for "bots": a bot counts as a user'] };
  return { callers: callers.filter(callerClass => callerClass === as), why: [] };
}

function describeBucket(
  { value: { bucket, mainAt }, line, pattern, place }: LoadedLimitRoute,
  params: readonly string[],
  limits: LoadedLimits,
): { readonly rows: Row[]; readonly value: string | null } {
  const at = limits.placeOf(['buckets', bucket.name]);
  const rows: Row[] = [
    ['bucket', `${bucket.name} (${formatPlace(at)})`],
    ['bucket', `by the line "${line}" (${formatPlace(place)})`],
  ];
  const tried = describeTrial(bucket, limits);
  if (tried !== null) rows.push(['bucket', tried]);
  const value = mainAt === null ? '' : mainValue(params[mainAt] ?? '');
  if (mainAt !== null) {
    const name = pattern.parameters[mainAt] ?? '';
    const counted = value === null ? 'is not UTF-8' : `= ${value}; each value is counted separately`;
    rows.push(['main parameter', `${name} ${counted}`]);
  }
  const scope = limits.placeOf(['buckets', bucket.name, 'scope']);
  const why = bucket.scope === 'shared' ? 'several lines use the bucket' : 'one line uses the bucket';
  rows.push(['bucket hash', value === null ? 'none' : bucket.hash.of(value)]);
  rows.push([
    'scope',
    `${bucket.scope}: ${scope === null ? why : `set by the bucket (${formatPlace(scope)})`}`,
  ]);
  return { rows, value };
}

/** Says for whom the bucket holds; null: for everyone. */
function describeTrial({ name, rollout }: BucketModel, limits: LoadedLimits): string | null {
  const place = (key: string) => formatPlace(limits.placeOf(['buckets', name, key]));
  if (rollout === null) return null;
  return `holds for ${rollout.share.percent}% of callers, and is in shadow for the others (${place('enforce')})`;
}

const NAMES = { bot: 'a bot', user: 'a user', address: 'an address' } as const;
const MANY = { bot: 'bots', user: 'users', address: 'addresses' } as const;

/** Describes what one caller of this class may send. */
function describeClass(callerClass: CallerClass, context: Context): Row[] {
  const label = `as ${NAMES[callerClass]}`;
  const bucket = context.line?.value.bucket;
  const own = bucket === undefined ? [] : describeOwn(callerClass, bucket, context.limits);
  const told = describePolicies(callerClass, context);
  return [...describeGlobal(callerClass, context), ...own, ...told].map(text => [label, text]);
}

/** What responses say of these limits, where they carry the fields. */
function describePolicies(callerClass: CallerClass, { model, limits, line, exempt }: Context): string[] {
  const bucket = line?.value.bucket;
  if (model.policies === null || bucket === undefined) return [];
  const set = (exempt ? bucket.exemptSets : bucket.sets)[callerClass];
  const list = model.policies.get(set)?.list ?? '';
  return list === '' ? [] : [`RateLimit-Policy: ${list} (${formatPlace(limits.placeOf(['headers']))})`];
}

/** What holds, then what is tried beside it. */
function describeGlobal(callerClass: CallerClass, { model, limits, exempt }: Context): string[] {
  if (exempt) return ['global limit: none, the route is exempt from it'];
  const { global, shadow } = model.global[callerClass];
  const written = limits.placeOf(['global', callerClass]);
  const tried = shadow === null ? null : shadow.global;
  const ofTrial = limits.placeOf(['global', 'shadow', callerClass]);
  const inShadow = tried === null ? '' : `global limit: ${formatQuota(tried)}, ${IN_SHADOW}`;
  if (tried !== null && ofTrial === null) return [`${inShadow} (${formatPlace(written)})`];
  // "global: off" sets all classes at once.
  const place = written ?? (global === null ? limits.placeOf(['global']) : null);
  const held = `global limit: ${global === null ? 'off' : formatQuota(global)} (${formatPlace(place)})`;
  return tried === null ? [held] : [held, `${inShadow} (${formatPlace(ofTrial)})`];
}

const IN_SHADOW = 'in shadow: it refuses nobody';

function describeOwn(callerClass: CallerClass, bucket: BucketModel, limits: LoadedLimits): string[] {
  const { caller, shadow } = bucket.exemptSets[callerClass];
  const tried = shadow === null ? null : shadow.caller;
  const placeOf = (...path: string[]) => limits.placeOf(['buckets', bucket.name, ...path]);
  const key = QUOTA_KEYS[callerClass].find(name => placeOf(name) !== null);
  const triedKey = QUOTA_KEYS[callerClass].find(name => placeOf('shadow', name) !== null);
  const describe = (limit: Limit, from: CallerClass, place: FilePlace | null, more: string) => {
    const fallback =
      from === callerClass ? '' : `, as for ${MANY[from]}: it has no quota for ${MANY[callerClass]}`;
    const algorithm = ALGORITHMS[limit.algorithm];
    return `bucket: ${formatQuota(limit)}, ${algorithm}${fallback}${more} (${formatPlace(place)})`;
  };
  const texts: string[] = [];
  if (caller !== null && key !== undefined) texts.push(describe(caller, key, placeOf(key), ''));
  if (tried !== null && triedKey !== undefined)
    texts.push(describe(tried, triedKey, placeOf('shadow', triedKey), `, ${IN_SHADOW}`));
  else if (tried !== null && key !== undefined)
    texts.push(describe(tried, key, placeOf(key), `, ${IN_SHADOW}`));
  return texts.length > 0 ? texts : [`bucket: not limited: it has no quota for ${MANY[callerClass]}`];
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

/** A caller without a valid token draws on the global limit before it is refused. */
function withoutToken(route: RouteModel, as: CallerClass | null, context: Context): Row[] {
  if (drawsOnBuckets(route.authentication, 'address') || (as !== null && as !== 'address')) return [];
  const label = 'without a token';
  return [
    ...describeGlobal('address', context).map((text): Row => [label, text]),
    [label, 'then 401; only callers with a token draw on the bucket'],
  ];
}

function describeResource(
  { value: { bucket, mainAt }, pattern }: LoadedLimitRoute,
  main: string,
  limits: LoadedLimits,
): Row[] {
  const { resource, shadow } = bucket.exemptSets.user;
  const placeOf = (...path: string[]) => limits.placeOf(['buckets', bucket.name, ...path, 'resource']);
  const of = mainAt === null ? '' : ` for ${pattern.parameters[mainAt]} = ${main}`;
  const describe = (limit: Limit, more: string, place: FilePlace | null): Row => {
    const algorithm = ALGORITHMS[limit.algorithm];
    return [
      'all together',
      `bucket: ${formatQuota(limit)}${of}, ${algorithm}${more} (${formatPlace(place)})`,
    ];
  };
  const rows = resource === null ? [] : [describe(resource, '', placeOf())];
  const tried = shadow === null ? null : shadow.resource;
  return tried === null ? rows : [...rows, describe(tried, `, ${IN_SHADOW}`, placeOf('shadow') ?? placeOf())];
}

function formatQuota({ units, periodMs }: Limit): string {
  return `${units} in ${formatDuration(periodMs)}`;
}

/** Formats where a limit is written: `config/limits.yaml:7`, or that it is the default. */
export function formatPlace(place: { readonly file: string; readonly line: number } | null): string {
  return place === null ? 'the default' : `${place.file}:${place.line}`;
}
