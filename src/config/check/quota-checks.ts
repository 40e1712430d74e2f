import { MAX_COMMON_WAIT_MS } from '../../core/index.ts';
import {
  CALENDAR_MS,
  formatPeriod,
  MAX_COMMON_UNITS,
  type Quota,
  quotaInWords,
  quotasOf,
} from '../../limits/index.ts';
import {
  asList,
  asMap,
  type ConfigFile,
  isMap,
  type LimitsFiles,
  type Path,
  Section,
} from '../file/index.ts';
import { bucketKeys } from '../limits/index.ts';
import { Statuses } from '../values/index.ts';

/** The buckets of limits.yaml as written. */
export function bucketsIn(file: LimitsFiles): Section<LimitsFiles>[] {
  const buckets = Object.entries(asMap(asMap(file.value).buckets));
  return buckets.map(([name, bucket]) => new Section(file, ['buckets', name], bucket));
}

/** Operators expect windows of at least this length to survive a restart. */
const LONG_MS = 86_400_000;

/**
 * Checks the quotas of buckets and of the global limit, wherever they are written.
 *
 * @param gateway null if limits.yaml is read on its own
 */
export function checkQuotas(file: LimitsFiles, gateway: ConfigFile | null): void {
  const { global, buckets } = asMap(file.value);
  const quotas = [...quotasAt(['global'], global), ...quotasAt(['buckets'], buckets)];
  for (const [path, quota] of quotas) checkNumbers(file, path, quota);
  for (const bucket of bucketsIn(file)) {
    checkSmooth(bucket);
    checkGiveBack(bucket, global);
  }
  for (const [path, list] of [...listsAt(['global'], global), ...listsAt(['buckets'], buckets)])
    checkList(file, path, list);
  const long = quotas.find(([, { periodMs }]) => periodMs >= LONG_MS);
  if (long === undefined || gateway === null || keepsCounters(gateway)) return;
  const message =
    'a restart forgets what is counted in this window: count in Redis, or write "state: { folder: /var/lib/weir, counters: 1h }" in gateway.yaml';
  file.warn(long[0], message);
}

function checkGiveBack(bucket: Section<LimitsFiles>, global: unknown): void {
  const { data } = bucketKeys.give_back.safeParse(bucket.raw.give_back);
  const given = new Statuses(data ?? []);
  const provoked =
    'a client that can provoke such an answer of the service is not limited by this bucket while it gives them: the global limit still counts';
  if (given.meets(5)) bucket.hint('give_back', provoked);
  if (given.meets(2) && (global === 'off' || asMap(global).shadow === true))
    bucket.hint('give_back', 'without a global limit nothing limits the requests that succeed');
}

/** Reports calendar periods in a smooth bucket: units return at any time, so nothing begins at midnight. */
function checkSmooth(bucket: Section<LimitsFiles>): void {
  if (bucket.raw.algorithm !== 'smooth') return;
  for (const [path, { calendar, units }] of quotasAt([], bucket.raw)) {
    if (calendar === undefined) continue;
    const message = `a smooth bucket has no ${calendar}: write a period such as ${units}/${formatPeriod({ periodMs: CALENDAR_MS[calendar] })}, or leave out "algorithm: smooth"`;
    bucket.add(path, message);
  }
}

function keepsCounters(gateway: ConfigFile): boolean {
  const { store, state } = asMap(gateway.value);
  return (store !== undefined && store !== 'memory') || asMap(state).counters !== undefined;
}

/** Hints at numbers that some client libraries cannot keep. */
function checkNumbers(file: LimitsFiles, path: Path, { units, periodMs }: Quota): void {
  const kept = 'some client libraries keep at most 65535';
  const message =
    units > MAX_COMMON_UNITS
      ? `${kept} of X-RateLimit-Limit and X-RateLimit-Remaining: try yours with this number`
      : `the wait of a 429 may be longer than 65535 seconds, and ${kept} of Retry-After: try yours with this period`;
  if (units > MAX_COMMON_UNITS || periodMs > MAX_COMMON_WAIT_MS) file.hint(path, message);
}

/** Warns about a quota of a list that is never reached, because another one refuses earlier. */
function checkList(file: LimitsFiles, path: Path, list: Quota): void {
  const quotas = quotasOf(list);
  for (const [at, quota] of quotas.entries()) {
    const smaller = quotas.find(other => other !== quota && neverReached(quota, other, false));
    if (smaller === undefined) continue;
    const message = `${quotaInWords(quota)} is never reached: ${quotaInWords(smaller)}, of the same list, refuses before`;
    file.warn([...path, at], message);
  }
}

/**
 * Whether a caller that sends everything the bound admits leaves some of the quota unused. Within a period of the quota, a bound
 * with windows admits its units once for each of its windows that begins there, and once more if calendar periods make the windows
 * start at different times. A smooth quota refills meanwhile, so it is reached at once, or only by a bound that admits more over
 * time.
 */
export function neverReached(quota: Quota, bound: Quota, isSmooth: boolean): boolean {
  // The number of requests that a cost amounts to is known only from requests.
  if (quota.unit !== bound.unit) return false;
  if (isSmooth)
    return quota.units > bound.units && quota.units * bound.periodMs >= bound.units * quota.periodMs;
  const windows = Math.ceil(quota.periodMs / bound.periodMs) + (beginApart(quota, bound) ? 1 : 0);
  return quota.units > bound.units * windows;
}

/**
 * Whether the windows of two quotas may overlap partly, such as those of a day and of 24 hours. Days lie within weeks and months.
 */
function beginApart({ calendar }: Quota, { calendar: other }: Quota): boolean {
  if (calendar === undefined || other === undefined) return calendar !== other;
  return calendar !== other && calendar !== 'day' && other !== 'day';
}

/** Yields all valid lists in a part of the file. */
function* listsAt(path: Path, written: unknown): Generator<readonly [Path, Quota]> {
  if (isMap(written))
    for (const [key, value] of Object.entries(written)) yield* listsAt([...path, key], value);
  const list = Array.isArray(written) ? quotaIn(written) : null;
  if (list !== null) yield [path, list];
}

/** Yields all valid quotas in a part of the file with their places; those of a list one by one. */
export function* quotasAt(path: Path, written: unknown): Generator<readonly [Path, Quota]> {
  const cost = isMap(written) ? quotaIn(written) : null;
  if (cost !== null) {
    yield [[...path, 'limit'], cost];
    return;
  }
  if (isMap(written))
    for (const [key, value] of Object.entries(written)) yield* quotasAt([...path, key], value);
  for (const [at, value] of asList(written).entries()) yield* quotasAt([...path, at], value);
  const quota = quotaIn(written);
  if (quota !== null && !Array.isArray(written)) yield [path, quota];
}

/** Reads a quota or a list as written; `null` if there is none or it is invalid. */
export function quotaIn(written: unknown): Quota | null {
  // Skip values that cannot be quotas, such as a whole bucket: the schema takes long to reject them.
  const mayBe =
    typeof written === 'string'
      ? /^\d/.test(written)
      : Array.isArray(written) || (isMap(written) && written.unit !== undefined);
  if (!mayBe) return null;
  const read = bucketKeys.resource.safeParse(written);
  return read.success ? (read.data ?? null) : null;
}
