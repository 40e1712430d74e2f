import type { RouteEntry } from '../../routing/index.ts';
import type { Difference } from '../difference.ts';
import type { BucketConfig, LimitsConfig } from '../schema/index.ts';
import { parseLimitRoute } from '../values/index.ts';
import type { WeighedChange } from './change.ts';
import { compareBucketQuotas, describeReach, joined, reachOf } from './compare-buckets.ts';
import { type Move, movesBetween } from './compare-routes.ts';
import { someOf } from './compare-values.ts';

interface Line {
  readonly line: string;
  readonly bucket: string;
}

/** Compares which requests draw on which bucket, and what that means for callers. */
export function compareLimitRoutes(now: LimitsConfig, before: LimitsConfig): WeighedChange[] {
  if (sameLines(now, before)) return unusedBuckets(now, before);
  const moves = movesBetween(entriesOf(now), entriesOf(before), ({ line, bucket }, pattern) =>
    line === pattern ? bucket : `${bucket} ${line}`,
  ).filter(move => move.now?.bucket !== move.before?.bucket);
  return [
    ...moves.map(move => ({ subject: someOf(move.labels), ...compareMove(move, now, before) })),
    ...compareSharing(moves, now, before),
    ...unusedBuckets(now, before),
  ];
}

function sameLines({ routes: now }: LimitsConfig, { routes: before }: LimitsConfig): boolean {
  const lines = Object.entries(now);
  return lines.length === Object.keys(before).length && lines.every(([line, name]) => before[line] === name);
}

function entriesOf({ routes }: LimitsConfig): RouteEntry<Line>[] {
  return Object.entries(routes).map(([line, bucket]) => ({
    pattern: parseLimitRoute(line),
    value: { line, bucket },
  }));
}

function compareMove({ now: to, before: from, labels }: Move<Line>, now: LimitsConfig, before: LimitsConfig) {
  const [bucket, old] = [bucketOf(to, now), bucketOf(from, before)];
  const quotas = compareBucketQuotas(holding(bucket), holding(old));
  const where = `${describeLine(to, labels, bucket)}, before ${describeLine(from, labels, old)}`;
  if (quotas.length > 0) return { ...joined(quotas), text: `${where}: ${joined(quotas).text}` };
  const text = holding(bucket) === undefined ? where : `${where}: the same numbers, counted anew`;
  return { effect: 'neutral', left: 1, text } satisfies Difference;
}

/** A bucket in shadow refuses nobody, as if there were none. */
function holding(bucket: BucketConfig | undefined): BucketConfig | undefined {
  return bucket === undefined || reachOf(bucket) === 0 ? undefined : bucket;
}

function bucketOf(line: Line | null, { buckets }: LimitsConfig) {
  return line !== null && Object.hasOwn(buckets, line.bucket) ? buckets[line.bucket] : undefined;
}

function describeLine(
  line: Line | null,
  labels: readonly string[],
  bucket: BucketConfig | undefined,
): string {
  if (line === null) return 'in no bucket';
  const by = labels.includes(line.line) ? '' : ` by the line "${line.line}"`;
  const reach = bucket === undefined ? 100 : reachOf(bucket);
  return `in the bucket ${line.bucket}${reach === 100 ? '' : ` (${describeReach(reach)})`}${by}`;
}

/** Says that a bucket which gains or loses requests leaves less or more for the others that draw on it. */
function compareSharing(
  moves: readonly Move<Line>[],
  now: LimitsConfig,
  before: LimitsConfig,
): WeighedChange[] {
  const [usedNow, usedBefore] = [usedIn(now), usedIn(before)];
  const isKept = (name: string) =>
    usedNow.has(name) && usedBefore.has(name) && holding(now.buckets[name]) !== undefined;
  return moves.flatMap(move => {
    const requests = someOf(move.labels);
    const [to, from] = [move.now?.bucket, move.before?.bucket];
    const changes: WeighedChange[] = [];
    if (to !== undefined && isKept(to))
      changes.push({ effect: 'stricter', left: 1, subject: `bucket ${to}`, text: `also counts ${requests}` });
    if (from !== undefined && isKept(from))
      changes.push({
        effect: 'looser',
        left: 1,
        subject: `bucket ${from}`,
        text: `no longer counts ${requests}`,
      });
    return changes;
  });
}

function usedIn({ routes }: LimitsConfig): ReadonlySet<string> {
  return new Set(Object.values(routes));
}

/** Says which buckets come or go without a route; their quotas affect nothing. */
function unusedBuckets(now: LimitsConfig, before: LimitsConfig): WeighedChange[] {
  const change = (name: string, text: string): WeighedChange => {
    return { effect: 'neutral', left: 1, subject: `bucket ${name}`, text };
  };
  return [
    ...unusedBeside(now, before).map(name => change(name, 'new, and no line of "routes" uses it')),
    ...unusedBeside(before, now).map(name => change(name, 'gone; no line of "routes" used it')),
  ];
}

/** Lists the unused buckets that the other file lacks. */
function unusedBeside(limits: LimitsConfig, other: LimitsConfig): string[] {
  const used = usedIn(limits);
  return Object.keys(limits.buckets).filter(name => !Object.hasOwn(other.buckets, name) && !used.has(name));
}
