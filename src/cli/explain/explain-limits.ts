import {
  type BucketModel,
  type CallerClass,
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
import type { ExplainedFact } from './fact.ts';

/** A request that a route takes, as far as limits care. */
export interface LimitedRequest {
  readonly method: string;
  /** Canonical. */
  readonly path: string;
  readonly route: RouteModel;
  /** Null: all whom the route may have as callers. */
  readonly as: CallerClass | null;
}

/** The limits that a request meets, for each class of callers, and where they are written. */
export function describeLimits(request: LimitedRequest, { snapshot, limits }: LoadedConfig): ExplainedFact[] {
  const { limits: model, identity } = snapshot;
  const match = model.routes.find(request.method, request.path);
  const line = limits.routes.find(({ value }) => value === match?.value);
  const { route, as } = request;
  const exempt = route.kind === 'forward' && route.globalLimitExempt;
  const context = { model, limits, line, exempt };
  const { callers, why } = callersOf(route, identity, as);
  const main = match === null || line === undefined ? null : describeBucket(line, match.params, limits);
  return [
    ...(main?.facts ?? [['bucket', 'none: no line of "routes" in limits.yaml takes it']]),
    ...why.map((text): ExplainedFact => ['caller', text]),
    ...callers.flatMap(callerClass => describeClass(callerClass, context)),
    ...withoutToken(route, as, context),
    ...(line === undefined ? [] : describeResource(line, main?.value ?? '', limits)),
  ];
}

/**
 * Why a bucket refuses the request of every caller; null: it does not. Without the token that a route requires no bucket is
 * looked at.
 */
export function whyBucketRefuses(
  { method, path, route, as }: LimitedRequest,
  { snapshot, limits }: LoadedConfig,
): { readonly facts: ExplainedFact[]; readonly why: string } | null {
  const match = snapshot.limits.routes.find(method, path);
  const line = limits.routes.find(({ value }) => value === match?.value);
  if (match === null || line === undefined || (route.authentication === 'required' && as === 'address'))
    return null;
  const { facts, value } = describeBucket(line, match.params, limits);
  return value === null ? { facts, why: '400, the value of the main parameter is not UTF-8' } : null;
}

/** The global limit of those without a token, which is all that a request without a route meets. */
export function describeAddressLimit({ snapshot, limits }: LoadedConfig): ExplainedFact {
  return [
    'as an address',
    describeGlobal('address', { model: snapshot.limits, limits, line: undefined, exempt: false }),
  ];
}

interface Context {
  readonly model: LimitsModel;
  readonly limits: LoadedLimits;
  readonly line: LoadedLimitRoute | undefined;
  /** From the global limit. */
  readonly exempt: boolean;
}

interface Callers {
  readonly callers: readonly CallerClass[];
  /** What there is to say where they are others than those asked for. */
  readonly why: readonly string[];
}

/** Who may come by a route, and as what those count who were asked for. */
function callersOf(route: RouteModel, identity: IdentityModel | null, as: CallerClass | null): Callers {
  const hasBots = identity?.accessTokens.bots != null;
  const known: readonly CallerClass[] = hasBots ? ['user', 'bot'] : ['user'];
  if (route.authentication === 'none') {
    const why = `the route looks at no token, so that a ${as} counts as its address`;
    return { callers: ['address'], why: as === null || as === 'address' ? [] : [why] };
  }
  if (as === 'bot' && !hasBots)
    return { callers: ['user'], why: ['"access_tokens" has no rule for "bots": a bot counts as a user'] };
  if (as === 'address') return { callers: route.authentication === 'optional' ? ['address'] : [], why: [] };
  if (as !== null) return { callers: [as], why: [] };
  return { callers: route.authentication === 'optional' ? [...known, 'address'] : known, why: [] };
}

function describeBucket(
  { value: { bucket, mainAt }, line, pattern, place }: LoadedLimitRoute,
  params: readonly string[],
  limits: LoadedLimits,
): { readonly facts: ExplainedFact[]; readonly value: string | null } {
  const at = limits.placeOf(['buckets', bucket.name]);
  const facts: ExplainedFact[] = [
    ['bucket', `${bucket.name} (${formatPlace(at)})`],
    ['bucket', `by the line "${line}" (${formatPlace(place)})`],
  ];
  const value = mainAt === null ? '' : mainValue(params[mainAt] ?? '');
  if (mainAt !== null) {
    const name = pattern.parameters[mainAt] ?? '';
    const counted = value === null ? 'is not UTF-8' : `= ${value}; each value has counters of its own`;
    facts.push(['main parameter', `${name} ${counted}`]);
  }
  const scope = limits.placeOf(['buckets', bucket.name, 'scope']);
  const why = bucket.scope === 'shared' ? 'several lines lead to the bucket' : 'one line leads to the bucket';
  facts.push(['bucket hash', value === null ? 'none' : bucket.hash.of(value)]);
  facts.push([
    'scope',
    `${bucket.scope}: ${scope === null ? why : `the bucket says so (${formatPlace(scope)})`}`,
  ]);
  return { facts, value };
}

const NAMES = { bot: 'a bot', user: 'a user', address: 'an address' } as const;
const MANY = { bot: 'bots', user: 'users', address: 'addresses' } as const;

/** What one caller of this class may send. */
function describeClass(callerClass: CallerClass, context: Context): ExplainedFact[] {
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
  // "global: off" says it for all classes.
  const place = written ?? (global === null ? limits.placeOf(['global']) : null);
  return `global limit: ${global === null ? 'off' : formatQuota(global)} (${formatPlace(place)})`;
}

function describeOwn(callerClass: CallerClass, bucket: BucketModel, limits: LoadedLimits): string {
  const { caller } = bucket.exemptSets[callerClass];
  const key = QUOTA_KEYS[callerClass].find(name => limits.placeOf(['buckets', bucket.name, name]) !== null);
  if (caller === null || key === undefined)
    return `bucket: not limited, it has no number for ${MANY[callerClass]}`;
  const fallback =
    key === callerClass ? '' : `, as for ${MANY[key]}: it has no number for ${MANY[callerClass]}`;
  const place = limits.placeOf(['buckets', bucket.name, key]);
  return `bucket: ${formatQuota(caller)}, ${ALGORITHMS[caller.algorithm]}${fallback} (${formatPlace(place)})`;
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

/** Who has no valid token where one is required draws on the global limit before the refusal. */
function withoutToken(route: RouteModel, as: CallerClass | null, context: Context): ExplainedFact[] {
  if (route.authentication !== 'required' || (as !== null && as !== 'address')) return [];
  const label = 'without a token';
  return [
    [label, describeGlobal('address', context)],
    [label, 'then 401; buckets are for callers with a token here'],
  ];
}

function describeResource(
  { value: { bucket, mainAt }, pattern }: LoadedLimitRoute,
  main: string,
  limits: LoadedLimits,
): ExplainedFact[] {
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

/** `config/limits.yaml:7`, or that it is a default. */
export function formatPlace(place: { readonly file: string; readonly line: number } | null): string {
  return place === null ? 'the default' : `${place.file}:${place.line}`;
}
