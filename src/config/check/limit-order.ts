import { formatDuration } from '../../core/index.ts';
import type { Quota } from '../../limits/index.ts';
import { QUOTA_KEYS } from '../compile/index.ts';
import { asMap, type LimitsFiles } from '../file/index.ts';
import type { CallerClass } from '../model/index.ts';
import { bucketKeys, limitsSchema } from '../schema/index.ts';

/** The callers that draw on a bucket, according to gateway.yaml. */
export interface BucketCallers {
  readonly classes: readonly CallerClass[];
  /** Whether a route of the bucket is exempt from the global limit. */
  readonly exempt: boolean;
}

const CLASSES = ['bot', 'user', 'address'] as const;
type Bound = 'global' | 'resource';

/**
 * Warns about quotas of a bucket that are never reached, because a smaller limit on the same requests refuses before: the global
 * limit, or that of all callers together. Warns only if that is so for every class of callers that has the quota.
 */
export function checkOrder(file: LimitsFiles, name: string, { classes, exempt }: BucketCallers): void {
  const bucket = asMap(asMap(asMap(file.value).buckets)[name]);
  // A limit in shadow refuses nobody.
  if (bucket.shadow === true) return;
  const ofGlobal = exempt ? null : globalIn(file);
  const resource = quotaOf(bucket.resource);
  const isSmooth = bucket.algorithm === 'smooth';
  for (const key of CLASSES) {
    const quota = quotaOf(bucket[key]);
    const users = classes.filter(each => QUOTA_KEYS[each].find(one => bucket[one] !== undefined) === key);
    if (quota === null || users.length === 0) continue;
    const isHidden = (bound: Quota | null) => bound !== null && neverReached(quota, bound, isSmooth);
    const path = ['buckets', name, key];
    const globals = users.map(each => ofGlobal?.[each] ?? null);
    if (globals.every(isHidden)) addWarning(file, path, quota, 'global', globals[0] ?? null);
    if (isHidden(resource)) addWarning(file, path, quota, 'resource', resource);
  }
}

/**
 * Whether a caller that sends all that the bound admits leaves some of its quota. In a period, a bound with windows admits its units as
 * often as its window begins there. A smooth quota fills up again meanwhile: it is reached at once, or by a bound that admits more over time.
 */
function neverReached(quota: Quota, bound: Quota, isSmooth: boolean): boolean {
  if (isSmooth)
    return quota.units > bound.units && quota.units * bound.periodMs >= bound.units * quota.periodMs;
  return quota.units > bound.units * Math.ceil(quota.periodMs / bound.periodMs);
}

const WORDS: Readonly<Record<Bound, string>> = {
  global: 'the global limit',
  resource: 'the limit of all callers together',
};

function addWarning(
  file: LimitsFiles,
  path: readonly string[],
  quota: Quota,
  bound: Bound,
  smaller: Quota | null,
): void {
  if (smaller === null) return;
  const message = `${inWords(quota)} is never reached: ${WORDS[bound]}, ${inWords(smaller)}, refuses before`;
  file.add(path, message, { severity: 'warning' });
}

function inWords({ units, periodMs }: Quota): string {
  return `${units} in ${formatDuration(periodMs)}`;
}

/** The global limit of each class, defaults included; `null` if it is off, in shadow or invalid. */
function globalIn(file: LimitsFiles): Readonly<Record<CallerClass, Quota | null>> | null {
  const read = limitsSchema.shape.global.safeParse(asMap(file.value).global);
  if (!read.success || read.data === 'off' || read.data.shadow === true) return null;
  const { bot, user, address } = read.data;
  return { bot, user, address };
}

/** Reads a quota as it is written; `null` if there is none or it is invalid. */
function quotaOf(written: unknown): Quota | null {
  const read = bucketKeys.user.safeParse(written);
  return read.success ? (read.data ?? null) : null;
}
