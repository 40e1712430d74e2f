import { MAX_COMMON_WAIT_MS } from '../../core/index.ts';
import { CALENDAR_MS, formatPeriod, MAX_COMMON_UNITS, type Quota } from '../../limits/index.ts';
import { asMap, type ConfigFile, isMap, type LimitsFiles } from '../file/index.ts';
import { bucketKeys } from '../schema/index.ts';

type Path = readonly string[];

/** Windows from this length on, people expect to outlive a restart. */
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
  for (const [name, bucket] of Object.entries(asMap(buckets))) checkSmooth(file, name, bucket);
  const long = quotas.find(([, { periodMs }]) => periodMs >= LONG_MS);
  if (long === undefined || gateway === null || keepsCounters(gateway)) return;
  const message =
    'a restart forgets what is counted in this window: count in Redis, or write "state: { folder: /var/lib/weir, counters: 1h }" in gateway.yaml';
  file.add(long[0], message, { severity: 'warning' });
}

/** Reports periods of the calendar in a smooth bucket: units return at any time, so nothing begins at midnight. */
function checkSmooth(file: LimitsFiles, name: string, bucket: unknown): void {
  if (asMap(bucket).algorithm !== 'smooth') return;
  for (const [path, { calendar, units }] of quotasAt(['buckets', name], bucket)) {
    if (calendar === undefined) continue;
    const message = `a smooth bucket has no ${calendar}: write a period such as ${units}/${formatPeriod({ periodMs: CALENDAR_MS[calendar] })}, or leave out "algorithm: smooth"`;
    file.add(path, message);
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
  if (units > MAX_COMMON_UNITS || periodMs > MAX_COMMON_WAIT_MS)
    file.add(path, message, { severity: 'hint' });
}

/** All valid quotas in a part of the file, with their places. */
function* quotasAt(path: Path, written: unknown): Generator<readonly [Path, Quota]> {
  if (isMap(written))
    for (const [key, value] of Object.entries(written)) yield* quotasAt([...path, key], value);
  const read = bucketKeys.resource.safeParse(written);
  if (read.success && read.data !== undefined) yield [path, read.data];
}
