import {
  type BucketLimits,
  type BucketModel,
  type CallerClass,
  type FilePlace,
  type LimitRouteModel,
  limitsFor,
  type Outline,
  QUOTA_KEYS,
  type Snapshot,
} from '../config/index.ts';
import { mainValue } from '../http/index.ts';
import type { Limit } from '../limits/index.ts';
import { type ExplainedRow, formatPlace, formatQuota, IN_SHADOW } from './explanation.ts';

/** The bucket that a request draws on. */
export interface BucketInUse {
  readonly route: LimitRouteModel;
  /** The value of the main parameter; '' if the bucket has none, `null` if it is not UTF-8. */
  readonly value: string | null;
}

export function findBucket(method: string, path: string, { limits }: Snapshot): BucketInUse | null {
  const match = limits.routes.find(method, path);
  if (match === null) return null;
  const { mainAt } = match.value;
  return { route: match.value, value: mainAt === null ? '' : mainValue(match.params[mainAt] ?? '') };
}

export function describeBucket(
  { route: { bucket, line }, value }: BucketInUse,
  { places }: Outline,
): ExplainedRow[] {
  const at = places.of(['buckets', bucket.name]);
  const rows: ExplainedRow[] = [
    ['bucket', `${bucket.name} (${formatPlace(at)})`],
    ['bucket', `by the line "${line}" (${formatPlace(places.of(['routes', line]))})`],
  ];
  if (bucket.rollout !== null) {
    const place = formatPlace(places.of(['buckets', bucket.name, 'enforce']));
    const { share, triesNumbers } = bucket.rollout;
    const how = triesNumbers
      ? `tries its numbers in "shadow" on ${share.percent}% of callers; those that hold are for the others`
      : `holds for ${share.percent}% of callers, and is in shadow for the others, whom it does not limit`;
    rows.push(['bucket', `${how} (${place})`]);
  }
  if (bucket.main !== null) {
    const counted = value === null ? 'is not UTF-8' : `= ${value}; each value is counted separately`;
    rows.push(['main parameter', `${bucket.main} ${counted}`]);
  }
  const scope = places.of(['buckets', bucket.name, 'scope']);
  const why = SCOPE_REASONS[bucket.scopeReason];
  rows.push(['bucket hash', value === null ? 'none' : bucket.hash.of(value)]);
  rows.push([
    'scope',
    `${bucket.scope}: ${scope === null ? why : `set by the bucket (${formatPlace(scope)})`}`,
  ]);
  return rows;
}

const SCOPE_REASONS = {
  one_line: 'one line uses the bucket',
  wildcard: 'the only line that uses the bucket covers several routes',
  several_lines: 'several lines use the bucket',
} as const;

/** The limits of a caller in the bucket. `key` is `null` for callers that a roll-out has reached. */
export function limitsOf({ route: { bucket } }: BucketInUse, key: string | null): BucketLimits {
  return key === null ? bucket : limitsFor(bucket, key);
}

const MANY = { bot: 'bots', user: 'users', address: 'addresses' } as const;

/** Describes what each caller of this class may send to the bucket. `key` names the caller; `null` is any. */
export function describeOwn(
  callerClass: CallerClass,
  key: string | null,
  used: BucketInUse,
  { places }: Outline,
): string[] {
  const { bucket } = used.route;
  const sides = sidesOf(bucket, key).map(side => ({ ...side, set: side.limits.exemptSets[callerClass] }));
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path]);
  const texts = sides.flatMap(({ set, hasTried, more }) => {
    const { caller, shadow } = set;
    const tried = shadow === null ? null : shadow.caller;
    return [
      ...(caller === null ? [] : [describeOne(caller, callerClass, hasTried, placeOf, more)]),
      ...(tried === null ? [] : [describeOne(tried, callerClass, true, placeOf, `${more}, ${IN_SHADOW}`)]),
    ];
  });
  if (texts.length === 0) return [`bucket: not limited: it has no quota for ${MANY[callerClass]}`];
  return [...describeSide(bucket, key), ...texts];
}

/** Callers of a bucket that have the same limits. */
interface Side {
  readonly limits: BucketLimits;
  /** Whether the numbers under `shadow` hold for them, where it has any. */
  readonly hasTried: boolean;
  /** A suffix that says who they are: `, for 10% of callers`. */
  readonly more: string;
}

/** The callers to describe: all of one side, or both where different numbers hold for them and no caller is named. */
function sidesOf(bucket: BucketModel, key: string | null): Side[] {
  const { rollout } = bucket;
  if (rollout === null || !rollout.triesNumbers)
    return [{ limits: key === null ? bucket : limitsFor(bucket, key), hasTried: false, more: '' }];
  const { percent } = rollout.share;
  const inside = { limits: bucket, hasTried: true };
  const outside = { limits: rollout.others, hasTried: false };
  if (key !== null) return [{ ...(rollout.share.includes(key) ? inside : outside), more: '' }];
  return [
    { ...inside, more: `, for ${percent}% of callers` },
    { ...outside, more: ', for the others' },
  ];
}

/** Describes a limit of a caller, and where its quota is written. `tried`: it may stand under `shadow`. */
function describeOne(
  limit: Limit,
  callerClass: CallerClass,
  tried: boolean,
  placeOf: (...path: string[]) => FilePlace | null,
  more: string,
): string {
  const keys = QUOTA_KEYS[callerClass];
  const found = tried
    ? keys.find(name => placeOf('shadow', name) !== null || placeOf(name) !== null)
    : keys.find(name => placeOf(name) !== null);
  const from = found ?? callerClass;
  const place = (tried ? placeOf('shadow', from) : null) ?? placeOf(from);
  const fallback =
    from === callerClass ? '' : `, as for ${MANY[from]}: it has no quota for ${MANY[callerClass]}`;
  return `bucket: ${formatQuota(limit)}, ${ALGORITHMS[limit.algorithm]}${fallback}${more} (${formatPlace(place)})`;
}

/** Says whether a caller is in the share that a roll-out has reached. */
function describeSide({ rollout }: BucketModel, key: string | null): string[] {
  if (rollout === null || key === null) return [];
  const side = rollout.share.includes(key) ? 'is' : 'is not';
  const whom = rollout.triesNumbers ? 'whom its numbers are tried on' : 'that it holds for';
  return [`bucket: this caller ${side} among the ${rollout.share.percent}% ${whom}`];
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

/** Describes what all callers together may send to the bucket. */
export function describeResource(
  { route: { bucket }, value }: BucketInUse,
  { places }: Outline,
): ExplainedRow[] {
  const sides = sidesOf(bucket, null);
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path, 'resource']);
  const of = bucket.main === null ? '' : ` for ${bucket.main} = ${value ?? ''}`;
  const describe = (limit: Limit, more: string, place: FilePlace | null): ExplainedRow => {
    const algorithm = ALGORITHMS[limit.algorithm];
    return [
      'all together',
      `bucket: ${formatQuota(limit)}${of}, ${algorithm}${more} (${formatPlace(place)})`,
    ];
  };
  return sides.flatMap(({ limits, hasTried, more }) => {
    const { resource, shadow } = limits.exemptSets.user;
    const tried = shadow === null ? null : shadow.resource;
    const ofTrial = placeOf('shadow') ?? placeOf();
    return [
      ...(resource === null ? [] : [describe(resource, more, hasTried ? ofTrial : placeOf())]),
      ...(tried === null ? [] : [describe(tried, `${more}, ${IN_SHADOW}`, ofTrial)]),
    ];
  });
}
