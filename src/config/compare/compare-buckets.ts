import { eachInSteps, type Steps } from '../../core/index.ts';
import type { Quota } from '../../limits/index.ts';
import type { Difference, WeighedChange } from '../difference.ts';
import { compareQuotas, compareSizes, describeQuota, differ, joined, someOf } from '../difference.ts';
import type { BucketConfig, LimitsConfig } from '../limits/index.ts';
import { quotaOf, type WrittenQuotas, withShadowNumbers } from '../limits/index.ts';
import { compareBucketSettings, compareConcurrent } from '../policies/index.ts';
import type { RouteEntry, RoutePattern } from '../routing/index.ts';
import { parseLimitRoute } from '../values/index.ts';
import { type Move, movesBetween } from './compare-routes.ts';

const CLASSES = ['user', 'bot', 'address'] as const;

/** The quotas of classes after all fallbacks; `null`: no limit. */
export interface ClassQuotas {
  /** The classes of gateway.yaml with their own quota. */
  readonly names: readonly string[];
  of(name: string): Quota | null;
}

/** @param quotas of a bucket or of the global limit; `undefined` if there are none, so that no caller is limited */
export function classQuotas(quotas: WrittenQuotas | undefined): ClassQuotas {
  return {
    names: Object.keys(quotas?.classes ?? {}),
    of: name => (quotas === undefined ? null : (quotaOf(quotas, name) ?? null)),
  };
}

/** Compares what each caller may send. Classes with the same change share a difference. */
export function compareClasses(now: ClassQuotas, before: ClassQuotas): Difference[] {
  const classes = [...new Set([...CLASSES, ...now.names, ...before.names])];
  const changed = classes.flatMap(name => {
    const difference = compareQuotas(now.of(name), before.of(name));
    return difference === null ? [] : [{ name, difference }];
  });
  const alike = Map.groupBy(changed, ({ difference }) => difference.text);
  return [...alike.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const names = group.map(({ name }) => name);
    const who = names.length === classes.length ? 'caller' : names.map(oneOf).join(' and ');
    return [{ ...first.difference, text: `each ${who} ${first.difference.text}` }];
  });
}

function oneOf(name: string): string {
  return CLASSES.some(each => each === name) ? name : `caller of class ${name}`;
}

/** Compares the quotas of two buckets: for each caller, and for all callers together. `undefined`: the bucket does not exist. */
function compareBucketQuotas(now: BucketConfig | undefined, before: BucketConfig | undefined): Difference[] {
  const resource = compareQuotas(now?.resource ?? null, before?.resource ?? null);
  return [
    ...compareClasses(classQuotas(now), classQuotas(before)),
    ...compareGroups(now?.group, before?.group),
    ...(resource === null ? [] : [{ ...resource, text: `all callers together ${resource.text}` }]),
  ];
}

type Group = BucketConfig['group'];

function compareGroups(now: Group, before: Group): Difference[] {
  const quotas = compareQuotas(now?.limit ?? null, before?.limit ?? null);
  const claim = now?.claim ?? before?.claim ?? '';
  const text = quotas === null ? '' : `all callers with the same ${claim} share: ${quotas.text}`;
  if (now === undefined || before === undefined || now.claim === before.claim)
    return quotas === null ? [] : [{ ...quotas, text }];
  const told = `${describeGroup(now)}, before ${describeGroup(before)}`;
  return [differ('mixed', told)];
}

function describeGroup({ claim, limit }: NonNullable<Group>): string {
  return `all callers with the same ${claim} share: ${describeQuota(limit)}`;
}

/** Compares the buckets that both files have; new and removed ones appear with the routes that use them. */
export function* compareBuckets(now: LimitsConfig, before: LimitsConfig): Steps<WeighedChange[]> {
  const hasSameLines = sameLines(now, before);
  yield;
  const lists = { now: new LinesOfBuckets(now), before: new LinesOfBuckets(before) };
  const changes: WeighedChange[] = [];
  for (const name of Object.keys(now.buckets)) {
    yield;
    const bucket = now.buckets[name];
    const old = Object.hasOwn(before.buckets, name) ? before.buckets[name] : undefined;
    // If a reload reused the bucket, nothing has changed.
    if (bucket === undefined || old === undefined || (old === bucket && hasSameLines)) continue;
    const [lines, linesBefore] = [lists.now.of(name), lists.before.of(name)];
    const numbers = [
      ...compareBucketQuotas(bucket, old),
      ...compareMain(bucket, old),
      ...compareBucketSettings({ config: bucket, lines }, { config: old, lines: linesBefore }),
    ];
    const differences = [...compareShadow(bucket, old, numbers), ...compareTriedShare(bucket, old)];
    for (const difference of differences) changes.push({ ...difference, subject: `bucket ${name}` });
  }
  return changes;
}

function compareTriedShare(now: BucketConfig, before: BucketConfig): Difference[] {
  const [reach, reached] = [trialReachOf(now), trialReachOf(before)];
  if (reach === 0 && reached === 0) return [];
  const applied = (bucket: BucketConfig) => (trialReachOf(bucket) > 0 ? withShadowNumbers(bucket) : bucket);
  const numbers = compareBucketQuotas(applied(now), applied(before)).map(difference => ({
    ...difference,
    text: `for ${reach || reached}% of callers: ${difference.text}`,
  }));
  if (reach === 0 || reached === 0 || reach === reached) return numbers;
  // For callers between the two shares, one set of numbers replaces the other.
  const joining = joined(
    reach > reached
      ? compareBucketQuotas(withShadowNumbers(now), before)
      : compareBucketQuotas(now, withShadowNumbers(before)),
  );
  const text = `tries its numbers on ${reach}% of callers, before on ${reached}%`;
  return [...numbers, { ...joining, text }];
}

/** The lines of each bucket. Looked up only when a bucket has changed. */
class LinesOfBuckets {
  readonly #routes: LimitsConfig['routes'];
  #byBucket: ReadonlyMap<string, readonly string[]> | null = null;

  constructor({ routes }: LimitsConfig) {
    this.#routes = routes;
  }

  of(bucket: string): RoutePattern[] {
    this.#byBucket ??= Map.groupBy(Object.keys(this.#routes), line => this.#routes[line]?.bucket ?? '');
    return (this.#byBucket.get(bucket) ?? []).map(line => parseLimitRoute(line));
  }
}

function compareMain({ main: now }: BucketConfig, { main: before }: BucketConfig): Difference[] {
  if (now === before) return [];
  if (now === undefined)
    return [differ('stricter', `all values of ${before} count together, before each was counted separately`)];
  if (before === undefined)
    return [differ('looser', `each value of ${now} is counted separately, before all counted together`)];
  return [differ('mixed', `values of ${now} are counted separately, before those of ${before}`)];
}

type Shadow = BucketConfig['shadow'] | Exclude<LimitsConfig['global'], 'off'>['shadow'];

interface Trial {
  readonly shadow: Shadow;
  readonly enforce?: number | undefined;
}

/** The percentage of callers for whom the written numbers are enforced; others are only counted. */
function reachOf({ shadow, enforce }: Trial): number {
  if (shadow === true) return 0;
  return typeof shadow === 'object' ? 100 : (enforce ?? 100);
}

/** The percentage of callers for whom the numbers under `shadow` are enforced; others are only counted. */
function trialReachOf({ shadow, enforce }: Trial): number {
  return typeof shadow === 'object' && enforce !== undefined && enforce < 100 ? enforce : 0;
}

/**
 * Compares for which callers a limit is enforced, and which trial numbers are counted. Trial numbers refuse nobody, so their
 * changes are neutral.
 */
export function compareShadow(now: Trial, before: Trial, numbers: readonly Difference[]): Difference[] {
  const [reach, reached] = [reachOf(now), reachOf(before)];
  const whom = compareSizes(reached, reach, `${describeReach(reach)}, before ${describeReach(reached)}`);
  const [tries, tried] = [describeTrials(now.shadow), describeTrials(before.shadow)];
  const onShare = trialReachOf(now) > 0 || trialReachOf(before) > 0;
  const trials =
    tries === tried || onShare ? [] : [differ('neutral', `tries ${tries} in shadow, before ${tried}`)];
  const refuses = reach > 0 && reached > 0;
  return [
    ...(whom === null ? [] : [whom]),
    ...(refuses ? numbers : numbers.map(({ text }) => differ('neutral', `in shadow: ${text}`))),
    ...trials,
  ];
}

/** Describes for whom a limit is enforced: `holds for 10% of callers`. */
function describeReach(percentage: number): string {
  if (percentage === 0) return 'in shadow';
  return percentage === 100
    ? 'applies to all callers'
    : `applies to ${percentage}% of callers and does not limit the others`;
}

function describeTrials(shadow: Shadow): string {
  if (typeof shadow === 'boolean') return 'nothing';
  const classes = CLASSES.flatMap(name => {
    const quota = shadow[name];
    return quota === undefined ? [] : [`each ${name} ${describeQuota(quota)}`];
  });
  const named = Object.entries(shadow.classes ?? {}).map(
    ([name, quota]) => `each ${oneOf(name)} ${describeQuota(quota)}`,
  );
  const { resource, group } = { resource: undefined, group: undefined, ...shadow };
  const parts = [
    ...classes,
    ...named,
    ...(group === undefined ? [] : [describeGroup(group)]),
    ...(resource === undefined ? [] : [`all callers together ${describeQuota(resource)}`]),
  ];
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

interface Line {
  readonly line: string;
  readonly bucket: string;
  readonly cost: Cost;
}

type Cost = LimitsConfig['routes'][string]['cost'];

/** Describes a cost. Equal costs have the same description. */
function costInWords(cost: Cost): string {
  if (typeof cost === 'number') return String(cost);
  const { response_field: field, reserve, most, pass } = cost;
  const passed = pass ? ', which clients get' : '';
  return `what ${field} of the response says (${reserve} reserved, at most ${most}${passed})`;
}

/** Compares what a request costs. Only responses show how a price compares to a fixed cost. */
function compareCosts(now: Cost, before: Cost): Difference | null {
  const text = `a cost of ${costInWords(now)}, before ${costInWords(before)}`;
  if (typeof now === 'number' && typeof before === 'number') return compareSizes(before, now, text);
  if (typeof now === 'number' || typeof before === 'number') return differ('mixed', text);
  const sizes = [
    compareSizes(before.reserve, now.reserve, text),
    compareSizes(before.most, now.most, text),
    now.response_field.toLowerCase() === before.response_field.toLowerCase() ? null : differ('mixed', text),
    now.pass === before.pass ? null : differ('neutral', text),
  ].filter(size => size !== null);
  return sizes.length === 0 ? null : { ...joined(sizes), text };
}

function isSameCost(one: Cost, other: Cost | undefined): boolean {
  return other !== undefined && costInWords(one) === costInWords(other);
}

/** Compares which requests consume which bucket, and what that means for callers. */
export function* compareLimitRoutes(now: LimitsConfig, before: LimitsConfig): Steps<WeighedChange[]> {
  const areSame = sameLines(now, before);
  yield;
  if (areSame) return unusedBuckets(now, before);
  const [lines, linesBefore] = [yield* entriesOf(now), yield* entriesOf(before)];
  const all = yield* movesBetween(lines, linesBefore, ({ line, bucket, cost }, pattern) =>
    line === pattern ? `${costInWords(cost)} ${bucket}` : `${costInWords(cost)} ${bucket} ${line}`,
  );
  const moves = all.filter(
    ({ now, before }) =>
      now?.bucket !== before?.bucket || (now !== null && !isSameCost(now.cost, before?.cost)),
  );
  return [
    ...moves.map(move => ({ subject: someOf(move.labels), ...compareMove(move, now, before) })),
    ...compareSharing(moves, now, before),
    ...unusedBuckets(now, before),
  ];
}

function sameLines({ routes: now }: LimitsConfig, { routes: before }: LimitsConfig): boolean {
  // If a reload reused the lines, nothing has changed.
  if (now === before) return true;
  const lines = Object.entries(now);
  return (
    lines.length === Object.keys(before).length &&
    lines.every(
      ([line, { bucket, cost }]) => before[line]?.bucket === bucket && isSameCost(cost, before[line].cost),
    )
  );
}

function entriesOf({ routes }: LimitsConfig): Steps<RouteEntry<Line>[]> {
  return eachInSteps(Object.entries(routes), ([line, { bucket, cost }]) => ({
    pattern: parseLimitRoute(line),
    value: { line, bucket, cost },
  }));
}

function compareMove({ now: to, before: from, labels }: Move<Line>, now: LimitsConfig, before: LimitsConfig) {
  const [bucket, old] = [bucketOf(to, now), bucketOf(from, before)];
  const difference =
    to === null || from === null || holding(bucket) === undefined || holding(old) === undefined
      ? null
      : compareCosts(to.cost, from.cost);
  if (to !== null && to.bucket === from?.bucket) {
    const costs = `a cost of ${costInWords(to.cost)}, before ${costInWords(from.cost)}`;
    const text = `in the bucket ${to.bucket} at ${costs}`;
    return { ...(difference ?? differ('neutral', text)), text };
  }
  const atOnce = compareConcurrent(holding(bucket), holding(old));
  const quotas = [
    ...compareBucketQuotas(holding(bucket), holding(old)),
    ...[difference, atOnce].filter(each => each !== null),
  ];
  const where = `${describeLine(to, labels, bucket)}, before ${describeLine(from, labels, old)}`;
  if (quotas.length > 0) return { ...joined(quotas), text: `${where}: ${joined(quotas).text}` };
  const text = holding(bucket) === undefined ? where : `${where}: the same numbers, counted from zero`;
  return differ('neutral', text);
}

/** Returns `undefined` for a bucket in shadow as well: it refuses nobody. */
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

/** Reports that a bucket which gains or loses requests leaves less or more for the others that consume it. */
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
    if (to === from) return [];
    const changes: WeighedChange[] = [];
    if (to !== undefined && isKept(to))
      changes.push({ subject: `bucket ${to}`, ...differ('stricter', `also counts ${requests}`) });
    if (from !== undefined && isKept(from))
      changes.push({ subject: `bucket ${from}`, ...differ('looser', `no longer counts ${requests}`) });
    return changes;
  });
}

function usedIn({ routes }: LimitsConfig): ReadonlySet<string> {
  return new Set(Object.values(routes).map(({ bucket }) => bucket));
}

/** Returns which buckets are added or removed without a route; their quotas affect nothing. */
function unusedBuckets(now: LimitsConfig, before: LimitsConfig): WeighedChange[] {
  const change = (name: string, text: string) => ({ subject: `bucket ${name}`, ...differ('neutral', text) });
  return [
    ...unusedOnlyIn(now, before).map(name => change(name, 'new, and no line of "routes" uses it')),
    ...unusedOnlyIn(before, now).map(name => change(name, 'gone; no line of "routes" used it')),
  ];
}

/** Returns the unused buckets that the other file lacks. */
function unusedOnlyIn(limits: LimitsConfig, other: LimitsConfig): string[] {
  const names = Object.keys(limits.buckets).filter(name => !Object.hasOwn(other.buckets, name));
  if (names.length === 0) return [];
  const used = usedIn(limits);
  return names.filter(name => !used.has(name));
}
