import { CALLER_CLASSES } from '../../core/index.ts';
import { type Quota, quotaInWords, quotasOf } from '../../limits/index.ts';
import {
  asList,
  asMap,
  type ConfigFile,
  type LimitsFiles,
  type Path,
  type RawMap,
  type Section,
} from '../file/index.ts';
import { bucketKeys, limitsSchema, QUOTA_KEYS, quotaOf, quotaPaths } from '../limits/index.ts';
import { type CallerClass, callerClassesOf, type ForwardRoute } from '../model/index.ts';
import { scopeReason } from '../policies/index.ts';
import { Reach, type RoutePattern } from '../routing/index.ts';
import { routeKeys } from '../settings/index.ts';
import { classNamesIn, keyClassesIn, sectionsIn } from './caller-checks.ts';
import { bucketsIn, neverReached, quotaIn } from './quota-checks.ts';
import { routesIn, writtenPatternsOf } from './route-checks.ts';
import { ownRoutesIn } from './sign-in-checks.ts';

export interface LimitLine {
  readonly line: string;
  readonly pattern: RoutePattern | null;
  /** The bucket of the line; `null` if it names none, which validation reports. */
  readonly bucket: string | null;
  readonly bucketPath: readonly string[];
  /** The written cost, or the `reserve` of a price; `null` if there is none, or it is not a whole number. */
  readonly cost: number | null;
  /** The written price; `null` if there is none. */
  readonly price: RawMap | null;
}

type Authentication = ForwardRoute['authentication'];

/** The parts of a gateway.yaml route that limits depend on. */
interface Taker {
  readonly pattern: RoutePattern;
  readonly authentication: Authentication;
  readonly exempt: boolean;
  /** The route, if its service tells clients about limits of its own; else `null`. */
  readonly ownLimits: string | null;
}

/**
 * Checks which lines of limits.yaml requests can reach, given the routes of gateway.yaml. Reports nothing while a route is
 * invalid, since it may be the one that reaches a line.
 */
export function checkReach(
  file: LimitsFiles,
  lines: readonly LimitLine[],
  gateway: ConfigFile,
  keys: ConfigFile | null,
): void {
  const takers = takersIn(gateway);
  if (takers === null) return;
  const reached = new Map<string, Taker[]>();
  const reach = new Reach(takers.map(({ pattern }) => pattern));
  for (const { line, pattern } of lines) {
    if (pattern === null) continue;
    const found = reach.takersOf(pattern).flatMap(index => takers[index] ?? []);
    reached.set(line, found);
    checkOwnLimits(file, line, found);
    if (found.length > 0) continue;
    const message = `no route of gateway.yaml serves a request that "${line}" matches`;
    file.addKey(['routes', line], message, 'warning');
  }
  const named = [...classNamesIn(gateway), ...keyClassesIn(keys)];
  const hasBots =
    sectionsIn(gateway).some(({ raw }) => ![undefined, 'none'].includes(raw.bots as string)) ||
    asList(keys?.value).some(line => asMap(line).bot === true);
  const byBucket = Map.groupBy(lines, ({ bucket }) => bucket);
  const global = globalIn(file);
  for (const bucket of bucketsIn(file)) {
    const lines = byBucket.get(String(bucket.path.at(-1))) ?? [];
    const of = lines.map(({ line }) => reached.get(line) ?? []);
    const kinds = of.flat().map(({ authentication }) => authentication);
    const isShared = scopeReason(patternsOf(lines)) !== 'one_line';
    if (isShared && !bucket.has('scope')) checkFloods(bucket, kinds);
    // Skips buckets with an unreached line: the operator may have removed its route temporarily.
    if (of.length === 0 || of.some(takers => takers.length === 0)) continue;
    checkClasses(bucket, kinds, hasBots);
    const builtIn = [...new Set(kinds.flatMap(kind => callerClassesOf(kind, hasBots)))];
    // A caller with a token may belong to a class that gateway.yaml names.
    const classes: readonly string[] = builtIn.includes('user') ? [...builtIn, ...named] : builtIn;
    checkOrder(bucket, classes, of.flat().some(({ exempt }) => exempt) ? null : global);
  }
}

/** Reports a line whose bucket clients would never see, because the route passes on the service's own rate-limit fields. */
function checkOwnLimits(file: LimitsFiles, line: string, takers: readonly Taker[]): void {
  const owner = takers.find(({ ownLimits }) => ownLimits !== null);
  if (owner === undefined) return;
  const message = `the route ${owner.ownLimits} says "rate_limit_headers: service", so its clients would learn nothing of this bucket: leave out one of the two`;
  file.addKey(['routes', line], message);
}

/** Returns the routes of gateway.yaml and the gateway's own; `null` if one is invalid. */
function takersIn(gateway: ConfigFile): Taker[] | null {
  if (!Array.isArray(asMap(gateway.value).routes)) return null;
  const takers = routesIn(gateway).map(({ raw }): Taker[] | null => {
    const patterns = writtenPatternsOf(raw);
    const authentication = routeKeys.authentication.safeParse(raw.authentication);
    if (patterns === null || !authentication.success) return null;
    // A route with requirements for tokens admits only requests with one.
    const kind = raw.require === undefined ? authentication.data : 'required';
    const exempt = raw.global_limit === 'exempt';
    const ownLimits = raw.rate_limit_headers === 'service' ? String(raw.path) : null;
    return patterns.map(pattern => ({ pattern, authentication: kind, exempt, ownLimits }));
  });
  const own = ownRoutesIn(gateway).map(({ pattern, value: { authentication } }) => {
    return { pattern, authentication, exempt: false, ownLimits: null };
  });
  return takers.includes(null) ? null : [...takers.flatMap(each => each ?? []), ...own];
}

/** Returns the patterns of lines, except invalid ones, which validation reports. */
export function patternsOf(lines: readonly LimitLine[]): RoutePattern[] {
  return lines.flatMap(({ pattern }) => pattern ?? []);
}

/**
 * Hints that a flood from addresses would not lead to a restriction: 429s of a shared bucket do not count as invalid requests, and
 * `ignored_refusals` restricts addresses only if configured to.
 */
function checkFloods(bucket: Section<LimitsFiles>, kinds: readonly Authentication[]): void {
  const serves = kinds.some(kind => callerClassesOf(kind, false).includes('address'));
  const limits = QUOTA_KEYS.address.some(key => bucket.has(key));
  const { ignored_refusals: rule } = asMap(bucket.file.value);
  if (!serves || !limits || bucket.raw.shadow === true || asMap(rule).addresses === true) return;
  const message = `nothing restricts an address that floods the bucket "${bucket.path.at(-1)}": 429s of a shared bucket do not count as invalid requests. If something should, write "scope: user" for the bucket, or "ignored_refusals: { addresses: true }"`;
  bucket.addKey([], message, 'hint');
}

/** Hints at quotas for classes that no caller here can have: another gateway that uses the same file may have such callers. */
function checkClasses(
  bucket: Section<LimitsFiles>,
  kinds: readonly Authentication[],
  hasBots: boolean,
): void {
  const written = CALLER_CLASSES.filter(key => bucket.has(key));
  const possible = new Set(kinds.flatMap(kind => callerClassesOf(kind, hasBots)));
  const used = [...possible].map(callerClass => QUOTA_KEYS[callerClass].find(key => written.includes(key)));
  const withToken = possible.has('user');
  for (const key of written) if (!used.includes(key)) bucket.addKey(key, whyNobody(key, withToken), 'hint');
}

function whyNobody(key: CallerClass, withToken: boolean): string {
  if (key === 'address')
    return '"address" has no effect: the routes of this bucket require a token, and without one only the global limit applies';
  if (withToken) return '"bot" has no effect: gateway.yaml has no rule for "bots"';
  return `"${key}" has no effect: the routes of this bucket ignore tokens, so every caller is an address`;
}

/**
 * Warns about quotas of a bucket that are never reached, because a smaller limit on the same requests refuses first: the global
 * limit, or that of all callers together. Warns only if this holds for every class of callers with the quota.
 *
 * @param classes the classes whose callers consume the bucket: built-in ones, and those that gateway.yaml names
 * @param ofGlobal the global limit of its requests; `null` if there is none, or a route of the bucket is exempt from it
 */
function checkOrder(
  { file, path: ofBucket, raw: bucket }: Section<LimitsFiles>,
  classes: readonly string[],
  ofGlobal: ReturnType<typeof globalIn>,
): void {
  // A shadow limit refuses nobody.
  if (bucket.shadow === true) return;
  const resource = quotaIn(bucket.resource);
  const isSmooth = bucket.algorithm === 'smooth';
  const warn = (path: Path, quota: Quota, what: string, smaller: Quota | null = null) => {
    if (smaller === null) return;
    const message = `${quotaInWords(quota)} is never reached: ${what}, ${quotaInWords(smaller)}, refuses before`;
    file.warn([...ofBucket, ...path], message);
  };
  const at = (path: readonly string[]) => path.reduce<unknown>((part, key) => asMap(part)[key], bucket);
  const pathOf = (each: string) => quotaPaths(each).find(path => at(path) !== undefined);
  for (const [key, drawing] of Map.groupBy(classes, each => pathOf(each)?.join('\n') ?? '')) {
    const path = key.split('\n');
    const globals = drawing.map(each => (ofGlobal === null ? null : (quotaOf(ofGlobal, each) ?? null)));
    for (const [part, quota] of quotasIn(at(path))) {
      const place = [...path, ...part];
      const hiding = globals.map(bound => hidingIn(bound, quota, isSmooth));
      if (hiding.every(found => found !== null)) warn(place, quota, 'the global limit', hiding[0]);
      warn(place, quota, OF_ALL, hidingIn(resource, quota, isSmooth));
    }
  }
  for (const [part, quota] of quotasIn(asMap(bucket.group).limit))
    warn(['group', 'limit', ...part], quota, OF_ALL, hidingIn(resource, quota, isSmooth));
}

const OF_ALL = 'the limit of all callers together';

/** The numbers of one quota: two if a claim sets it. */
function quotasIn(written: unknown): readonly (readonly [readonly (string | number)[], Quota])[] {
  const { data: quota } = bucketKeys.user.safeParse(written);
  if (quota === undefined) return [];
  if (Array.isArray(written)) return quotasOf(quota).map((each, at) => [[at], each]);
  if (quota.unit !== undefined) return [[['limit'], quota]];
  if (!('claim' in quota)) return [[[], quota]];
  return [
    [['max'], { ...quota, units: quota.maxUnits }],
    [['otherwise'], quota],
  ];
}

/** Returns the quota of `bound` that keeps `quota` from ever being reached; `null` if none does. */
function hidingIn(bound: Quota | null, quota: Quota, isSmooth: boolean): Quota | null {
  return (bound === null ? [] : quotasOf(bound)).find(each => neverReached(quota, each, isSmooth)) ?? null;
}

/** The global limit of each class, defaults included; `null` if it is off, in shadow or invalid. */
function globalIn(file: LimitsFiles) {
  const read = limitsSchema.shape.global.safeParse(asMap(file.value).global);
  return !read.success || read.data === 'off' || read.data.shadow === true ? null : read.data;
}
