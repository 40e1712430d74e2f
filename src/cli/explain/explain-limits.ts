import {
  type BucketModel,
  type CallerClass,
  callerClassesOf,
  drawsOnBuckets,
  type IdentityModel,
  type LimitsModel,
  type LoadedConfig,
  type LoadedLimitRoute,
  type LoadedLimits,
  QUOTA_KEYS,
  type RouteModel,
} from '../../config/index.ts';
import { mainValue } from '../../http/index.ts';
import type { Limit } from '../../limits/index.ts';
import { formatDuration } from '../units.ts';
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
  ];
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
export function describeAddressLimit({ snapshot, limits }: LoadedConfig): Row {
  return [
    'as an address',
    describeGlobal('address', { model: snapshot.limits, limits, line: undefined, exempt: false }),
  ];
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

const NAMES = { bot: 'a bot', user: 'a user', address: 'an address' } as const;
const MANY = { bot: 'bots', user: 'users', address: 'addresses' } as const;

/** Describes what one caller of this class may send. */
function describeClass(callerClass: CallerClass, context: Context): Row[] {
  const label = `as ${NAMES[callerClass]}`;
  const bucket = context.line?.value.bucket;
  return [
    [label, describeGlobal(callerClass, context)],
    ...(bucket === undefined ? [] : [[label, describeOwn(callerClass, bucket, context.limits)] as const]),
  ];
}

function describeGlobal(callerClass: CallerClass, { model, limits, exempt }: Context): string {
  if (exempt) return 'global limit: none, the route is exempt from it';
  const { global } = model.global[callerClass];
  const written = limits.placeOf(['global', callerClass]);
  // "global: off" sets all classes at once.
  const place = written ?? (global === null ? limits.placeOf(['global']) : null);
  return `global limit: ${global === null ? 'off' : formatQuota(global)} (${formatPlace(place)})`;
}

function describeOwn(callerClass: CallerClass, bucket: BucketModel, limits: LoadedLimits): string {
  const { caller } = bucket.exemptSets[callerClass];
  const key = QUOTA_KEYS[callerClass].find(name => limits.placeOf(['buckets', bucket.name, name]) !== null);
  if (caller === null || key === undefined)
    return `bucket: not limited: it has no quota for ${MANY[callerClass]}`;
  const fallback =
    key === callerClass ? '' : `, as for ${MANY[key]}: it has no quota for ${MANY[callerClass]}`;
  const place = limits.placeOf(['buckets', bucket.name, key]);
  return `bucket: ${formatQuota(caller)}, ${ALGORITHMS[caller.algorithm]}${fallback} (${formatPlace(place)})`;
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

/** A caller without a valid token draws on the global limit before it is refused. */
function withoutToken(route: RouteModel, as: CallerClass | null, context: Context): Row[] {
  if (drawsOnBuckets(route.authentication, 'address') || (as !== null && as !== 'address')) return [];
  const label = 'without a token';
  return [
    [label, describeGlobal('address', context)],
    [label, 'then 401; only callers with a token draw on the bucket'],
  ];
}

function describeResource(
  { value: { bucket, mainAt }, pattern }: LoadedLimitRoute,
  main: string,
  limits: LoadedLimits,
): Row[] {
  const { resource } = bucket.exemptSets.user;
  if (resource === null) return [];
  const place = limits.placeOf(['buckets', bucket.name, 'resource']);
  const of = mainAt === null ? '' : ` for ${pattern.parameters[mainAt]} = ${main}`;
  const algorithm = ALGORITHMS[resource.algorithm];
  return [['all together', `bucket: ${formatQuota(resource)}${of}, ${algorithm} (${formatPlace(place)})`]];
}

function formatQuota({ units, periodMs }: Limit): string {
  return `${units} in ${formatDuration(periodMs)}`;
}

/** Formats where a limit is written: `config/limits.yaml:7`, or that it is the default. */
export function formatPlace(place: { readonly file: string; readonly line: number } | null): string {
  return place === null ? 'the default' : `${place.file}:${place.line}`;
}
