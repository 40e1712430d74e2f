import {
  type BucketLimits,
  type BucketModel,
  type ClassName,
  classesOn,
  consumesBuckets,
  describeBucketSettings,
  type FilePlace,
  hasBots,
  type IdentityModel,
  isOfFile,
  type LimitRouteModel,
  type LimitsModel,
  limitsFor,
  type Outline,
  quotaPaths,
  type RouteModel,
  type Snapshot,
} from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import type { Limit } from '../limits/index.ts';
import { addressKey, mainValue } from '../wire/http/index.ts';
import { type AskedCaller, type ExplainedRow, formatPlace, formatQuota, IN_SHADOW } from './explanation.ts';

/** The parts of a routed request that limits depend on. */
interface RoutedRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly route: RouteModel;
  readonly caller: AskedCaller;
}

/** Describes the limits on a request for each class of callers, and where they are written. */
export function describeLimits(request: RoutedRequest, snapshot: Snapshot): ExplainedRow[] {
  const { limits: model, identity, outline } = snapshot;
  const bucket = findBucket(request, snapshot);
  const { route, caller } = request;
  const exempt = isOfFile(route) && route.globalLimitExempt;
  const context = { model, outline, bucket, exempt };
  const { callers, why } = callersOf(route, identity, caller.as);
  return [
    ...(bucket === null
      ? [['bucket', 'none: no line of "routes" in limits.yaml matches'] as const]
      : describeBucket(bucket, outline)),
    ...why.map((text): ExplainedRow => ['caller', text]),
    ...callers.flatMap(callerClass => describeClass(callerClass, keyOf(caller, callerClass, model), context)),
    ...withoutToken(route, caller.as, context),
    ...(['group', 'resource'] as const).flatMap(role => describeShared(role, bucket, outline)),
    ...describePatience(snapshot),
  ];
}

function describePatience({ limits: { patienceMs }, outline }: Snapshot): ExplainedRow[] {
  if (patienceMs === null) return [];
  const how = `held instead of refused where the wait is at most ${formatDuration(patienceMs)}`;
  return [['patience', `${how} (${formatPlace(outline.places.of(['patience']))})`]];
}

/** Returns why every caller is refused if the bucket of the request cannot be determined; `null` if it can. */
export function whyBucketRefuses(
  request: RoutedRequest,
  snapshot: Snapshot,
): { readonly rows: ExplainedRow[]; readonly why: string } | null {
  const { route, caller } = request;
  const bucket = findBucket(request, snapshot);
  if (bucket === null || bucket.value !== null) return null;
  if (caller.as !== null && !consumesBuckets(route.authentication, caller.as)) return null;
  const rows = describeBucket(bucket, snapshot.outline);
  return { rows, why: '400, the value of the main parameter is not UTF-8' };
}

/** Describes the limits on a request that no route serves: only the global limit. `as` is `null` for every class. */
export function describeUnserved(
  { limits, identity, outline }: Snapshot,
  as: ClassName | null,
): ExplainedRow[] {
  const context = { model: limits, outline, bucket: null, exempt: false };
  const classes = identity === null ? ['address'] : classesOn('optional', identity);
  return [
    ['limits', 'only the global limit: that of the caller if its token is remembered, else of the address'],
    ...classes
      .filter(callerClass => as === null || callerClass === as)
      .flatMap(callerClass => describeClass(callerClass, null, context)),
  ];
}

interface Context {
  readonly model: LimitsModel;
  readonly outline: Outline;
  readonly bucket: BucketInUse | null;
  /** Whether the route is exempt from the global limit. */
  readonly exempt: boolean;
}

/**
 * Returns the caller classes to describe: all of the route, or the one that the requested class counts as on this route. If that
 * is another one, says why.
 */
function callersOf(
  route: RouteModel,
  identity: IdentityModel | null,
  as: ClassName | null,
): { readonly callers: readonly ClassName[]; readonly why: readonly string[] } {
  const bots = identity !== null && hasBots(identity);
  const callers = classesOn(route.authentication, identity);
  if (as === null) return { callers, why: [] };
  if (route.authentication === 'none') {
    const why = `the route ignores tokens, so ${oneOf(as)} counts as its address`;
    return { callers, why: as === 'address' ? [] : [why] };
  }
  if (as === 'bot' && !bots)
    return { callers: ['user'], why: ['there is no rule for "bots": a bot counts as a user'] };
  return { callers: callers.filter(callerClass => callerClass === as), why: [] };
}

/** The words for one caller, and for several, of the built-in classes. */
const WHO: Readonly<Record<string, readonly [one: string, many: string] | undefined>> = {
  bot: ['a bot', 'bots'],
  user: ['a user', 'users'],
  address: ['an address', 'addresses'],
};

function oneOf(name: ClassName): string {
  return WHO[name]?.[0] ?? `a caller of class ${name}`;
}

function manyOf(name: ClassName): string {
  return WHO[name]?.[1] ?? `callers of class ${name}`;
}

function keyOf(
  { as, address, principal }: AskedCaller,
  callerClass: ClassName,
  { keying }: LimitsModel,
): string | null {
  if (callerClass === 'address') return address === null ? null : addressKey(address, keying);
  return as === callerClass ? principal : null;
}

function describeClass(callerClass: ClassName, key: string | null, context: Context): ExplainedRow[] {
  const { bucket, outline } = context;
  const own = bucket === null ? [] : describeOwn(callerClass, key, bucket, outline);
  const told = describePolicies(callerClass, key, context);
  return [...describeGlobal(callerClass, context), ...own, ...told].map(text => [
    `as ${oneOf(callerClass)}`,
    text,
  ]);
}

/** Describes the header fields about these limits, if responses carry them. */
function describePolicies(
  callerClass: ClassName,
  key: string | null,
  { model, outline, bucket, exempt }: Context,
): string[] {
  if (model.policies === null || bucket === null) return [];
  const limited = bucket.route.bucket;
  const { sets, exemptSets } = key === null ? limited : limitsFor(limited, key);
  const list = model.policies.get((exempt ? exemptSets : sets).of(callerClass)).list;
  return list === '' ? [] : [`RateLimit-Policy: ${list} (${formatPlace(outline.places.of(['headers']))})`];
}

/** Describes the enforced global limit, then the one in shadow. */
function describeGlobal(callerClass: ClassName, { model, outline, exempt }: Context): string[] {
  const { places } = outline;
  if (exempt) return ['global limit: none, the route is exempt from it'];
  const { global, shadow } = model.global.of(callerClass);
  const placeIn = (...path: string[]) =>
    ownPaths(callerClass)
      .map(own => places.of([...path, ...own]))
      .find(place => place !== null) ?? null;
  const written = placeIn('global');
  const tried = shadow === null ? null : shadow.global;
  const ofTrial = placeIn('global', 'shadow');
  const inShadow = tried === null ? '' : `global limit: ${formatQuota(tried)}, ${IN_SHADOW}`;
  if (tried !== null && ofTrial === null) return [`${inShadow} (${formatPlace(written)})`];
  // "global: off" sets all classes at once.
  const place = written ?? (global === null ? places.of(['global']) : null);
  const held = `global limit: ${global === null ? 'off' : formatQuota(global)} (${formatPlace(place)})`;
  return tried === null ? [held] : [held, `${inShadow} (${formatPlace(ofTrial)})`];
}

/** Where the global limit sets the quota of a class: each of the three has its own place. */
function ownPaths(callerClass: ClassName): readonly (readonly string[])[] {
  return WHO[callerClass] === undefined ? quotaPaths(callerClass) : [[callerClass]];
}

/** Describes a caller without a valid token: it consumes the global limit before it is refused. */
function withoutToken(route: RouteModel, as: ClassName | null, context: Context): ExplainedRow[] {
  if (consumesBuckets(route.authentication, 'address') || (as !== null && as !== 'address')) return [];
  const label = 'without a token';
  return [
    ...describeGlobal('address', context).map((text): ExplainedRow => [label, text]),
    [label, 'then 401; only callers with a token use the bucket'],
  ];
}

interface BucketInUse {
  readonly route: LimitRouteModel;
  /** The value of the main parameter; '' if the bucket has none, `null` if it is not UTF-8. */
  readonly value: string | null;
}

function findBucket({ method, host, path }: RoutedRequest, { limits }: Snapshot): BucketInUse | null {
  const match = limits.routes.find(method, host, path);
  if (match === null) return null;
  const { mainAt } = match.value;
  return { route: match.value, value: mainAt === null ? '' : mainValue(match.params[mainAt] ?? '') };
}

function describeBucket(
  { route: { bucket, line, cost, price }, value }: BucketInUse,
  { places }: Outline,
): ExplainedRow[] {
  const at = places.of(['buckets', bucket.name]);
  const rows: ExplainedRow[] = [
    ['bucket', `${bucket.name} (${formatPlace(at)})`],
    ['bucket', `by the line "${line}" (${formatPlace(places.of(['routes', line]))})`],
  ];
  if (price !== null) {
    const place = formatPlace(places.of(['routes', line, 'cost']));
    const client = price.passes ? '' : ', and clients do not get the field';
    rows.push([
      'price',
      `what ${price.field} of the response says, at most ${price.most}: ${cost} of each quota with "unit: cost" are drawn at first, and one of every other${client} (${place})`,
    ]);
  } else if (cost > 1) {
    const place = formatPlace(places.of(['routes', line, 'cost']));
    const of = bucket.countsCosts
      ? 'of each quota with "unit: cost", and one of every other'
      : 'of each limit of the bucket';
    rows.push(['cost', `each request takes ${cost} ${of}, or nothing (${place})`]);
  }
  if (bucket.rollout !== null) {
    const place = formatPlace(places.of(['buckets', bucket.name, 'enforce']));
    const { share, triesNumbers } = bucket.rollout;
    const how = triesNumbers
      ? `tries its numbers in "shadow" on ${share.percent}% of callers; those in force apply to the others`
      : `applies to ${share.percent}% of callers, and is in shadow for the others, so it does not limit them`;
    rows.push(['bucket', `${how} (${place})`]);
  }
  if (bucket.main !== null) {
    const counted = value === null ? 'is not UTF-8' : `= ${value}; each value is counted separately`;
    rows.push(['main parameter', `${bucket.main} ${counted}`]);
  }
  rows.push(['bucket hash', value === null ? 'none' : bucket.hash.of(value)]);
  const placeOf = (key: string) => {
    const place = places.of(['buckets', bucket.name, key]);
    return place && formatPlace(place);
  };
  return [...rows, ...describeBucketSettings(bucket, placeOf)];
}

/** Describes what each caller of this class may send to the bucket. `key` names the caller; `null` is any. */
function describeOwn(
  callerClass: ClassName,
  key: string | null,
  { route: { bucket } }: BucketInUse,
  { places }: Outline,
): string[] {
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path]);
  const limits = limitsOfRole('caller', callerClass, sidesOf(bucket, key));
  if (limits.length === 0) return [`bucket: not limited: it has no quota for ${manyOf(callerClass)}`];
  return [...describeSide(bucket, key), ...limits.map(limit => describeOne(limit, callerClass, placeOf))];
}

/** Callers of a bucket that have the same limits. */
interface Side {
  readonly limits: BucketLimits;
  /** Whether the numbers under `shadow`, if any, apply to these callers. */
  readonly hasTried: boolean;
  /** A suffix for these callers: `, for 10% of callers`. */
  readonly more: string;
}

/** The groups of callers to describe: two if a share of the callers has other numbers and no caller is given, else one. */
function sidesOf(bucket: BucketModel, key: string | null): Side[] {
  const { rollout } = bucket;
  const tries = rollout?.triesNumbers === true;
  if (key !== null) {
    const hasTried = tries && rollout.share.includes(key);
    return [{ limits: limitsFor(bucket, key), hasTried, more: '' }];
  }
  if (!tries) return [{ limits: bucket, hasTried: false, more: '' }];
  return [
    { limits: bucket, hasTried: true, more: `, for ${rollout.share.percent}% of callers` },
    { limits: rollout.others, hasTried: false, more: ', for the others' },
  ];
}

/** A limit on the callers of a side. */
interface SideLimit {
  readonly limit: Limit;
  /** Whether its number may be written under `shadow`. */
  readonly isTried: boolean;
  readonly more: string;
}

/** The limits of this role on a class: those in force, and those in shadow. */
function limitsOfRole(
  role: 'caller' | 'group' | 'resource',
  callerClass: ClassName,
  sides: readonly Side[],
): SideLimit[] {
  return sides.flatMap(({ limits, hasTried, more }) => {
    const { [role]: held, shadow } = limits.exemptSets.of(callerClass);
    const tried = shadow === null ? null : shadow[role];
    return [
      ...(held === null ? [] : [{ limit: held, isTried: hasTried, more }]),
      ...(tried === null ? [] : [{ limit: tried, isTried: true, more: `${more}, ${IN_SHADOW}` }]),
    ];
  });
}

/** Describes a limit of a caller, and where its quota is written. */
function describeOne(
  { limit, isTried, more }: SideLimit,
  callerClass: ClassName,
  placeOf: (...path: string[]) => FilePlace | null,
): string {
  const paths = quotaPaths(callerClass);
  const placeAt = (path: readonly string[]) =>
    (isTried ? placeOf('shadow', ...path) : null) ?? placeOf(...path);
  const from = paths.find(path => placeAt(path) !== null) ?? paths[0] ?? [];
  const fallback =
    from === paths[0] ? '' : `, as for ${manyOf(from[0] ?? '')}: it has no quota for ${manyOf(callerClass)}`;
  return `bucket: ${formatQuota(limit)}, ${ALGORITHMS[limit.algorithm]}${fallback}${more} (${formatPlace(placeAt(from))})`;
}

/** Describes whether a caller is in the share that a roll-out has reached. */
function describeSide({ rollout }: BucketModel, key: string | null): string[] {
  if (rollout === null || key === null) return [];
  const side = rollout.share.includes(key) ? 'is' : 'is not';
  const whom = rollout.triesNumbers ? 'on whom its numbers are tried' : 'that it limits';
  return [`bucket: this caller ${side} among the ${rollout.share.percent}% ${whom}`];
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

const TOGETHER = { group: 'each group', resource: 'all together' } as const;

/** Describes what the callers of a group, or all callers, may send to the bucket together. */
function describeShared(
  role: 'group' | 'resource',
  used: BucketInUse | null,
  { places }: Outline,
): ExplainedRow[] {
  if (used === null) return [];
  const { bucket } = used.route;
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path, role]);
  const of = bucket.main === null ? '' : ` for ${bucket.main} = ${used.value ?? ''}`;
  return limitsOfRole(role, 'user', sidesOf(bucket, null)).map(({ limit, isTried, more }) => {
    const place = (isTried ? placeOf('shadow') : null) ?? placeOf();
    const quota = `${formatQuota(limit)}${of}, ${ALGORITHMS[limit.algorithm]}`;
    return [TOGETHER[role], `bucket: ${quota}${more} (${formatPlace(place)})`];
  });
}
