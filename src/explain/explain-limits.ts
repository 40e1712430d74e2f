import {
  type CallerClass,
  callerClassesOf,
  consumesBuckets,
  hasBots,
  type IdentityModel,
  type LimitsModel,
  type Outline,
  type RouteModel,
  type Snapshot,
} from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { addressKey } from '../http/index.ts';
import {
  type BucketInUse,
  describeBucket,
  describeOwn,
  describeResource,
  findBucket,
  limitsOf,
} from './explain-bucket.ts';
import { type AskedCaller, type ExplainedRow, formatPlace, formatQuota, IN_SHADOW } from './explanation.ts';

/** The part of a routed request that limits depend on. */
export interface LimitedRequest {
  readonly method: string;
  /** The canonical path. */
  readonly path: string;
  readonly route: RouteModel;
  readonly caller: AskedCaller;
}

/** Lists the limits on a request for each class of callers, and where they are written. */
export function describeLimits(request: LimitedRequest, snapshot: Snapshot): ExplainedRow[] {
  const { limits: model, identity, outline } = snapshot;
  const bucket = findBucket(request.method, request.path, snapshot);
  const { route, caller } = request;
  const exempt = route.kind === 'forward' && route.globalLimitExempt;
  const context = { model, outline, bucket, exempt };
  const { callers, why } = callersOf(route, identity, caller.as);
  return [
    ...(bucket === null
      ? [['bucket', 'none: no line of "routes" in limits.yaml matches'] as const]
      : describeBucket(bucket, outline)),
    ...why.map((text): ExplainedRow => ['caller', text]),
    ...callers.flatMap(callerClass => describeClass(callerClass, keyOf(caller, callerClass), context)),
    ...withoutToken(route, caller.as, context),
    ...(bucket === null ? [] : describeResource(bucket, outline)),
    ...describePatience(snapshot),
  ];
}

function describePatience({ limits: { patienceMs }, outline }: Snapshot): ExplainedRow[] {
  if (patienceMs === null) return [];
  const how = `held instead of refused where the wait is at most ${formatDuration(patienceMs)}`;
  return [['patience', `${how} (${formatPlace(outline.places.of(['patience']))})`]];
}

/** Says why the request is refused for every caller, because its bucket cannot be determined; `null` if it can. */
export function whyBucketRefuses(
  { method, path, route, caller: { as } }: LimitedRequest,
  snapshot: Snapshot,
): { readonly rows: ExplainedRow[]; readonly why: string } | null {
  const bucket = findBucket(method, path, snapshot);
  if (bucket === null || bucket.value !== null) return null;
  if (as !== null && !consumesBuckets(route.authentication, as)) return null;
  const rows = describeBucket(bucket, snapshot.outline);
  return { rows, why: '400, the value of the main parameter is not UTF-8' };
}

/** Describes the limits on a request that no route serves: the global limit alone. `as` is `null` for every class. */
export function describeUnserved(
  { limits, identity, outline }: Snapshot,
  as: CallerClass | null,
): ExplainedRow[] {
  const context = { model: limits, outline, bucket: null, exempt: false };
  const known = callerClassesOf('optional', identity !== null && hasBots(identity));
  const classes = identity === null ? (['address'] as const) : known;
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

interface Callers {
  readonly callers: readonly CallerClass[];
  /** Says why they differ from the class asked for. */
  readonly why: readonly string[];
}

/** Returns the caller classes to describe: those of the route, or what the class asked for counts as there. */
function callersOf(route: RouteModel, identity: IdentityModel | null, as: CallerClass | null): Callers {
  const bots = identity !== null && hasBots(identity);
  const callers = callerClassesOf(route.authentication, bots);
  if (as === null) return { callers, why: [] };
  if (route.authentication === 'none') {
    const why = `the route ignores tokens, so a ${as} counts as its address`;
    return { callers, why: as === 'address' ? [] : [why] };
  }
  if (as === 'bot' && !bots)
    return { callers: ['user'], why: ['there is no rule for "bots": a bot counts as a user'] };
  return { callers: callers.filter(callerClass => callerClass === as), why: [] };
}

const NAMES = { bot: 'a bot', user: 'a user', address: 'an address' } as const;

/** The key that the caller is counted under in this class; `null` if it is not known. */
function keyOf({ as, address, principal }: AskedCaller, callerClass: CallerClass): string | null {
  if (callerClass === 'address') return address === null ? null : addressKey(address);
  return as === callerClass ? principal : null;
}

/** Describes what one caller of this class may send. */
function describeClass(callerClass: CallerClass, key: string | null, context: Context): ExplainedRow[] {
  const { bucket, outline } = context;
  const own = bucket === null ? [] : describeOwn(callerClass, key, bucket, outline);
  const told = describePolicies(callerClass, key, context);
  return [...describeGlobal(callerClass, context), ...own, ...told].map(text => [
    `as ${NAMES[callerClass]}`,
    text,
  ]);
}

/** Describes what responses say about these limits, if they carry the fields. */
function describePolicies(
  callerClass: CallerClass,
  key: string | null,
  { model, outline, bucket, exempt }: Context,
): string[] {
  if (model.policies === null || bucket === null) return [];
  const { sets, exemptSets } = limitsOf(bucket, key);
  const list = model.policies.get((exempt ? exemptSets : sets)[callerClass])?.list ?? '';
  return list === '' ? [] : [`RateLimit-Policy: ${list} (${formatPlace(outline.places.of(['headers']))})`];
}

/** Describes the global limit that holds, then the one that is tried beside it. */
function describeGlobal(callerClass: CallerClass, { model, outline, exempt }: Context): string[] {
  const { places } = outline;
  if (exempt) return ['global limit: none, the route is exempt from it'];
  const { global, shadow } = model.global[callerClass];
  const written = places.of(['global', callerClass]);
  const tried = shadow === null ? null : shadow.global;
  const ofTrial = places.of(['global', 'shadow', callerClass]);
  const inShadow = tried === null ? '' : `global limit: ${formatQuota(tried)}, ${IN_SHADOW}`;
  if (tried !== null && ofTrial === null) return [`${inShadow} (${formatPlace(written)})`];
  // "global: off" sets all classes at once.
  const place = written ?? (global === null ? places.of(['global']) : null);
  const held = `global limit: ${global === null ? 'off' : formatQuota(global)} (${formatPlace(place)})`;
  return tried === null ? [held] : [held, `${inShadow} (${formatPlace(ofTrial)})`];
}

/** A caller without a valid token draws on the global limit before it is refused. */
function withoutToken(route: RouteModel, as: CallerClass | null, context: Context): ExplainedRow[] {
  if (consumesBuckets(route.authentication, 'address') || (as !== null && as !== 'address')) return [];
  const label = 'without a token';
  return [
    ...describeGlobal('address', context).map((text): ExplainedRow => [label, text]),
    [label, 'then 401; only callers with a token draw on the bucket'],
  ];
}
