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
import { formatPlace, formatQuota, IN_SHADOW, type Row } from './row.ts';

/** The bucket that a request draws on. */
export interface BucketInUse {
  readonly route: LimitRouteModel;
  /** Of the main parameter; '' if the bucket has none, null if it is not UTF-8. */
  readonly value: string | null;
}

export function findBucket(method: string, path: string, { limits }: Snapshot): BucketInUse | null {
  const match = limits.routes.find(method, path);
  if (match === null) return null;
  const { mainAt } = match.value;
  return { route: match.value, value: mainAt === null ? '' : mainValue(match.params[mainAt] ?? '') };
}

export function describeBucket({ route: { bucket, line }, value }: BucketInUse, { places }: Outline): Row[] {
  const at = places.of(['buckets', bucket.name]);
  const rows: Row[] = [
    ['bucket', `${bucket.name} (${formatPlace(at)})`],
    ['bucket', `by the line "${line}" (${formatPlace(places.of(['routes', line]))})`],
  ];
  if (bucket.rollout !== null) {
    const place = formatPlace(places.of(['buckets', bucket.name, 'enforce']));
    const { percent } = bucket.rollout.share;
    rows.push(['bucket', `holds for ${percent}% of callers, and is in shadow for the others (${place})`]);
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

/** What a caller draws on in the bucket. `key`: null for callers that a roll-out has reached. */
export function limitsOf({ route: { bucket } }: BucketInUse, key: string | null): BucketLimits {
  return key === null ? bucket : limitsFor(bucket, key);
}

const MANY = { bot: 'bots', user: 'users', address: 'addresses' } as const;

/** Describes what each caller of this class may send to the bucket. `key`: of the caller in question; null: any. */
export function describeOwn(
  callerClass: CallerClass,
  key: string | null,
  used: BucketInUse,
  { places }: Outline,
): string[] {
  const { bucket } = used.route;
  const { caller, shadow } = limitsOf(used, key).exemptSets[callerClass];
  const tried = shadow === null ? null : shadow.caller;
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path]);
  const written = QUOTA_KEYS[callerClass].find(name => placeOf(name) !== null);
  const triedKey = QUOTA_KEYS[callerClass].find(name => placeOf('shadow', name) !== null);
  const describe = (limit: Limit, from: CallerClass, place: FilePlace | null, more: string) => {
    const fallback =
      from === callerClass ? '' : `, as for ${MANY[from]}: it has no quota for ${MANY[callerClass]}`;
    const algorithm = ALGORITHMS[limit.algorithm];
    return `bucket: ${formatQuota(limit)}, ${algorithm}${fallback}${more} (${formatPlace(place)})`;
  };
  const texts: string[] = [];
  if (caller !== null && written !== undefined) texts.push(describe(caller, written, placeOf(written), ''));
  if (tried !== null && triedKey !== undefined)
    texts.push(describe(tried, triedKey, placeOf('shadow', triedKey), `, ${IN_SHADOW}`));
  else if (tried !== null && written !== undefined)
    texts.push(describe(tried, written, placeOf(written), `, ${IN_SHADOW}`));
  if (texts.length === 0) return [`bucket: not limited: it has no quota for ${MANY[callerClass]}`];
  return [...describeSide(bucket, key), ...texts];
}

/** Says whether a caller is in the share that a roll-out has reached. */
function describeSide({ rollout }: BucketModel, key: string | null): string[] {
  if (rollout === null || key === null) return [];
  const side = rollout.share.includes(key) ? 'is' : 'is not';
  return [`bucket: this caller ${side} among the ${rollout.share.percent}% that it holds for`];
}

const ALGORITHMS = { window: 'fixed window', smooth: 'smooth' } as const;

/** Describes what all callers together may send to the bucket. */
export function describeResource({ route: { bucket }, value }: BucketInUse, { places }: Outline): Row[] {
  const { resource, shadow } = bucket.exemptSets.user;
  const placeOf = (...path: string[]) => places.of(['buckets', bucket.name, ...path, 'resource']);
  const of = bucket.main === null ? '' : ` for ${bucket.main} = ${value ?? ''}`;
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
