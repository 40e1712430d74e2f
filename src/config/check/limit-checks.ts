import { isIPv6 } from 'node:net';
import { formatPeriod, type Quota } from '../../limits/index.ts';
import { IPV6_PREFIX, isTranslated, parseTranslator, type TranslatorPrefix } from '../../wire/http/index.ts';
import {
  asList,
  asMap,
  type ConfigFile,
  didYouMean,
  isMap,
  type LimitsFiles,
  type RawMap,
  Section,
} from '../file/index.ts';
import {
  bucketKeys,
  type CallerClaims,
  KEY_CALLERS,
  kindsOf,
  listedCaller,
  QUOTA_KEYS,
} from '../limits/index.ts';
import { scopeReason } from '../policies/index.ts';
import {
  findConflicts,
  findHidden,
  GRPC_METHOD,
  isRoutable,
  PatternError,
  ROUTABLE_METHODS,
  type RoutePattern,
} from '../routing/index.ts';
import { parseLimitRoute } from '../values/index.ts';
import { callerClaimsOf, checkPlans, expectedCaller, sectionsIn } from './caller-checks.ts';
import { checkReach, type LimitLine, patternsOf } from './limit-reach.ts';
import { bucketsIn, checkQuotas, quotasAt } from './quota-checks.ts';

/**
 * Checks how the parts of limits.yaml fit together, and how it fits gateway.yaml. Reads raw values, for the same reason as the
 * cross-checks of gateway.yaml.
 *
 * @param gateway null if limits.yaml is read on its own
 * @param keys the file of API keys; `null` if there is none
 */
export function checkLimits(
  file: LimitsFiles,
  gateway: ConfigFile | null,
  keys: ConfigFile | null = null,
): void {
  const { global, buckets, routes, headers } = asMap(file.value);
  checkEmptyShadow(new Section(file, ['global'], global));
  checkPolicyNames(file, headers);
  checkBlocked(file);
  if (gateway !== null) checkCallers(file, gateway);
  checkPlans(file, gateway, keys);
  checkQuotas(file, gateway);
  const byName = asMap(buckets);
  const lines = Object.entries(asMap(routes)).map(lineOf);
  for (const bucket of bucketsIn(file)) if (isMap(byName[String(bucket.path.at(-1))])) checkBucket(bucket);
  // An invalid `routes`, which validation reports, may be meant to name every bucket.
  if (routes === undefined || isMap(routes)) checkNames(file, Object.keys(byName), lines);
  for (const { line, pattern, bucket } of lines) {
    if (pattern !== null && bucket !== null) checkMain(file, line, pattern, bucket, asMap(byName[bucket]));
  }
  for (const line of lines) {
    if (line.bucket === null) continue;
    checkCost(file, line, byName[line.bucket]);
    if (line.price !== null) checkPrice(file, line, line.price, byName[line.bucket]);
  }
  const sound = lines.flatMap(({ line, pattern }) => (pattern === null ? [] : [{ line, pattern }]));
  checkMethods(file, sound, gateway);
  checkPatterns(file, sound);
  if (gateway !== null) checkReach(file, lines, gateway, keys);
}

function lineOf([line, written]: readonly [string, unknown]): LimitLine {
  const { bucket, cost } = isMap(written) ? written : { bucket: written, cost: null };
  const first = isMap(cost) ? cost.reserve : cost;
  return {
    line,
    pattern: patternOf(line),
    bucket: typeof bucket === 'string' ? bucket : null,
    bucketPath: isMap(written) ? ['routes', line, 'bucket'] : ['routes', line],
    cost: typeof first === 'number' ? first : null,
    price: isMap(cost) ? cost : null,
  };
}

function patternOf(line: string): RoutePattern | null {
  try {
    return parseLimitRoute(line);
  } catch (error) {
    if (error instanceof PatternError) return null;
    throw error;
  }
}

const QUOTAS = ['user', 'bot', 'address', 'classes', 'group', 'resource'] as const;

function checkBucket(bucket: Section<LimitsFiles>): void {
  const { main, resource, concurrent, shadow } = bucket.raw;
  if (Object.keys(bucket.raw).some(key => !Object.hasOwn(bucketKeys, key)) || !bucket.has([])) return;
  checkShadow(bucket);
  const trials = asMap(shadow);
  const hasQuota = QUOTAS.some(key => bucket.raw[key] !== undefined || trials[key] !== undefined);
  const nobody = 'limits nobody: write a quota for user, bot, address or resource, such as user: 20/5s';
  if (!hasQuota && concurrent === undefined)
    bucket.addKey([], `the bucket "${bucket.path.at(-1)}" ${nobody}`);
  const together =
    '"resource" limits all callers together for each value of the main parameter: name that parameter with "main"';
  if (resource !== undefined && main === undefined) bucket.addKey('resource', together);
  const needsMain = '"resource" needs a main parameter: name it with "main" of the bucket';
  if (trials.resource !== undefined && main === undefined) bucket.addKey(['shadow', 'resource'], needsMain);
}

/** Checks how a bucket is tested: in shadow, with other numbers, or on a share of callers. */
function checkShadow(bucket: Section<LimitsFiles>): void {
  const { shadow, enforce } = bucket.raw;
  checkEmptyShadow(bucket);
  const forNobody =
    '"enforce: 100%" puts the numbers of "shadow" in force for nobody: to try them on a share of callers, write a smaller percentage; to put them in force for all callers, write them in place of those in force today; to only count, leave out "enforce"';
  const twice =
    '"enforce" already puts the bucket in shadow for all other callers: leave out "enforce" or "shadow"';
  if (enforce === '100%') {
    if (typeof shadow === 'object' && !isEmptyMap(shadow)) bucket.addKey('enforce', forNobody, 'warning');
  } else if (enforce !== undefined && shadow === true) bucket.addKey('enforce', twice);
  else if (enforce !== undefined) addShareHint(bucket);
}

/** Hints that callers outside the share are not limited in the bucket. */
function addShareHint(bucket: Section<LimitsFiles>): void {
  const trials = asMap(bucket.raw.shadow);
  const alone = QUOTAS.filter(key => trials[key] !== undefined && !isHeld(bucket.raw, key));
  const triesNumbers = Object.keys(trials).length > 0;
  if (triesNumbers && alone.length === 0) return;
  const what = triesNumbers ? ` by its number for ${alone.join(' and ')}` : '';
  const message = `callers outside this share (${String(bucket.raw.enforce)}) are not limited${what}. If a number is in force for all callers today, keep it and write the new one under "shadow": user: 20/5s, shadow: { user: 10/5s }, enforce: 10%`;
  bucket.addKey('enforce', message, 'hint');
}

/** Whether callers of this class have an enforced quota in the bucket: their own, or one that they fall back to. */
function isHeld(bucket: RawMap, key: (typeof QUOTAS)[number]): boolean {
  if (key === 'classes') return bucket.classes !== undefined || bucket.user !== undefined;
  const keys = key === 'resource' || key === 'group' ? ([key] as const) : QUOTA_KEYS[key];
  return keys.some(each => bucket[each] !== undefined);
}

/** Reports a bucket with the name reserved for the global limit in `RateLimit-Policy`. */
function checkPolicyNames(file: LimitsFiles, headers: unknown): void {
  const announces = asList(headers).includes('ratelimit');
  const path = ['buckets', 'global'];
  if (!announces || !file.has(path)) return;
  const message =
    'the global limit has the name "global" in the RateLimit header: give the bucket another name';
  file.addKey(path, message);
}

/** Reports blocked IPv6 networks smaller than what counts as one address, unless they embed an address that counts. */
function checkBlocked(file: LimitsFiles): void {
  const { blocked, ipv6_prefix = IPV6_PREFIX, nat64_prefixes } = asMap(file.value);
  const { addresses } = asMap(blocked);
  const prefix = Number(ipv6_prefix);
  if (Number.isNaN(prefix) || !Array.isArray(addresses)) return;
  const translators = translatorsIn(nat64_prefixes);
  for (const [index, entry] of addresses.entries()) {
    const [address = '', length = 128] = typeof entry === 'string' ? entry.split('/') : [];
    if (!isIPv6(address) || Number(length) <= prefix) continue;
    if (isTranslated(address, Number(length), translators)) continue;
    const message =
      prefix === IPV6_PREFIX
        ? 'a client of IPv6 is known by its /64: write a network such as 2001:db8:1:2::/64'
        : `with "ipv6_prefix: ${prefix}" a client of IPv6 is known by its /${prefix}: write a network of at most that prefix`;
    file.add(['blocked', 'addresses', index], message);
  }
}

function translatorsIn(prefixes: unknown): TranslatorPrefix[] {
  return asList(prefixes).flatMap(text => {
    try {
      return [parseTranslator(String(text))];
    } catch {
      // The schema reports an invalid entry.
      return [];
    }
  });
}

function isEmptyMap(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0;
}

function checkEmptyShadow(part: Section<LimitsFiles>): void {
  if (isEmptyMap(part.raw.shadow))
    part.addKey('shadow', '"shadow" has no quota to try: write true, or a quota such as user: 10/5s');
}

function checkNames(file: LimitsFiles, names: readonly string[], lines: readonly LimitLine[]): void {
  const known = new Set(names);
  const byBucket = Map.groupBy(lines, ({ bucket }) => bucket);
  for (const { bucket, bucketPath: path } of lines) {
    if (bucket === null || known.has(bucket)) continue;
    const meant = /^\d+\s*\//.test(bucket)
      ? ': put this quota into a bucket, and write the name of the bucket here'
      : didYouMean(bucket, names);
    file.add(path, `no bucket is named ${file.shown(path)}${meant}`);
  }
  // A line with an unknown bucket may be meant to use an unused one, so do not report those.
  const allKnown = [...byBucket.keys()].every(bucket => bucket !== null && known.has(bucket));
  for (const name of names) {
    const users = byBucket.get(name) ?? [];
    if (!file.has(['buckets', name, 'scope'])) checkScope(file, name, users);
    if (users.length > 0 || !allKnown) continue;
    file.addKey(['buckets', name], `no line of "routes" uses the bucket "${name}"`, 'warning');
  }
}

function checkScope(file: LimitsFiles, name: string, users: readonly LimitLine[]): void {
  const why = whyShared(users);
  if (why === null) return;
  const message = `the scope of the bucket "${name}" is "shared" because ${why}, and some clients ignore the headers of a shared bucket until a 429: write "scope: user" for those clients, or "scope: shared" to keep it`;
  file.addKey(['buckets', name], message, 'hint');
}

function whyShared(users: readonly LimitLine[]): string | null {
  const reason = scopeReason(patternsOf(users));
  if (reason === 'one_line') return null;
  if (reason === 'several_lines') return 'several routes use it';
  const ending = users.some(({ line }) => line.endsWith('/*')) ? '/*' : '/**';
  return `its line ends in "${ending}" and so covers several routes`;
}

function checkMain(
  file: LimitsFiles,
  line: string,
  { parameters }: RoutePattern,
  name: string,
  { main }: RawMap,
): void {
  const read = bucketKeys.main.safeParse(main);
  if (!read.success || read.data === undefined || parameters.includes(read.data)) return;
  const message = `"${line}" has no {${read.data}}, by which the bucket "${name}" counts`;
  file.addKey(['routes', line], `${message}${didYouMean(read.data, parameters)}`);
}

/** Reports a cost above the bucket's smallest quota: such a request could never be admitted. */
function checkCost(file: LimitsFiles, { line, bucket, cost, price }: LimitLine, written: unknown): void {
  if (cost === null) return;
  const all = [...quotasAt([], written)].map(([, quota]) => quota);
  const ofCost = all.filter(({ unit }) => unit === 'cost');
  const quotas = ofCost.length === 0 ? all : ofCost;
  const [smallest] = quotas.toSorted((one, other) => one.units - other.units);
  if (smallest === undefined || cost <= smallest.units) return;
  const message = `a request costs at most the smallest number of its bucket, and "${bucket}" has ${smallest.units}/${formatPeriod(smallest)}: write at most ${smallest.units}`;
  file.add(['routes', line, 'cost', ...(price === null ? [] : ['reserve'])], message);
}

/** Reports a price that no quota of its bucket counts. Hints at how much may be admitted before the first price is known. */
function checkPrice(
  file: LimitsFiles,
  { line, bucket, cost }: LimitLine,
  { most }: RawMap,
  written: unknown,
): void {
  if (!isMap(written)) return;
  const path = ['routes', line, 'cost'];
  const quotas = [...quotasAt([], written)].flatMap(([, quota]) => (quota.unit === 'cost' ? [quota] : []));
  const [smallest] = quotas.toSorted((one, other) => one.units - other.units);
  if (smallest === undefined) {
    const message = `a price in the response needs a quota with "unit: cost" in the bucket "${bucket}", such as user: { limit: 200000/day, unit: cost }`;
    file.add([...path, 'response_field'], message);
  } else if (written.algorithm === 'smooth') {
    const message =
      'in a smooth bucket units return all the time, so a price that is known too late could not be charged: leave out "algorithm: smooth", or write the cost as a number';
    file.add([...path, 'response_field'], message);
  } else addParallel(file, [...path, 'most'], smallest, cost ?? 1, most);
}

function addParallel(
  file: LimitsFiles,
  path: readonly string[],
  { units, periodMs, calendar }: Quota,
  reserve: number,
  most: unknown,
): void {
  if (typeof most !== 'number' || most <= reserve || reserve > units) return;
  const requests = Math.floor(units / reserve);
  const message = `of ${units}/${formatPeriod({ periodMs, calendar })}, ${requests} requests may be admitted before the price of the first is known, which together may cost up to ${requests * most}: a higher "reserve" lowers that`;
  file.hint(path, message);
}

/**
 * Reports methods that are probably misspelt. Any token may be a method, so a method that a route of gateway.yaml names is not
 * reported.
 */
function checkMethods(
  file: LimitsFiles,
  lines: readonly { readonly line: string; readonly pattern: RoutePattern }[],
  gateway: ConfigFile | null,
): void {
  const named = asList(asMap(gateway?.value).routes).flatMap(route => asList(asMap(route).methods));
  for (const { line, pattern } of lines) {
    const [method] = pattern.methods ?? [];
    if (method === undefined || method === GRPC_METHOD || isRoutable(method) || named.includes(method))
      continue;
    const meant = didYouMean(method, ROUTABLE_METHODS);
    const message = `"${line}" is not a route: "${method}" is not a method${meant}`;
    if (meant !== '') file.addKey(['routes', line], message);
  }
}

function checkPatterns(
  file: LimitsFiles,
  lines: readonly { readonly line: string; readonly pattern: RoutePattern }[],
): void {
  const patterns = lines.map(({ pattern }) => pattern);
  const pathOf = (position: number) => ['routes', lines[position]?.line ?? ''];
  for (const [first, second] of findConflicts(patterns)) {
    const other = file.linesOf([pathOf(first)], pathOf(second));
    file.addKey(pathOf(second), `"${lines[second]?.line}" matches the same requests as ${other}`);
  }
  for (const { index, hiddenBy } of findHidden(patterns)) {
    const others = file.linesOf(hiddenBy.map(pathOf), pathOf(index));
    const message = `no request reaches "${lines[index]?.line}": more specific ones (${others}) take them all`;
    file.addKey(pathOf(index), message, 'warning');
  }
}

/** Checks that callers listed in limits.yaml are named by exactly the claims that identify callers in gateway.yaml. */
function checkCallers(file: LimitsFiles, gateway: ConfigFile): void {
  const { never_restrict: spared, blocked } = asMap(file.value);
  const entries = [
    ...entriesIn(spared, ['never_restrict']),
    ...entriesIn(asMap(blocked).callers, ['blocked', 'callers']),
  ];
  if (entries.length === 0) return;
  const classes = classesIn(gateway);
  if (classes === null) return;
  for (const { path, entry } of entries) {
    const caller = listedCaller(entry, classes);
    if (kindsOf(caller, classes).length > 0) continue;
    const own = classes.filter(({ provider }) => caller.provider === null || provider === caller.provider);
    if (classes.length === 0) file.add(path, WITHOUT_TOKENS);
    else if (own.length === 0) file.add([...path, 'provider'], noProvider(caller.provider, classes));
    else file.add(path, expectedCaller(own));
  }
}

const WITHOUT_TOKENS =
  'without a provider in gateway.yaml every caller is an address: list addresses instead';

interface Entry {
  readonly path: readonly (string | number)[];
  readonly entry: RawMap;
}

function entriesIn(list: unknown, path: readonly string[]): Entry[] {
  return asList(list).flatMap((entry, index) => (isMap(entry) ? [{ path: [...path, index], entry }] : []));
}

/** Returns the claims that identify callers; `null` if they are invalid, which validation reports. */
function classesIn(gateway: ConfigFile): readonly CallerClaims[] | null {
  const { access_tokens: tokens, identity_providers: several, api_keys: keys } = asMap(gateway.value);
  if (several !== undefined && !Array.isArray(several)) return null;
  const sections = (several ?? tokens) === undefined ? [] : sectionsIn(gateway);
  const classes = sections.map(callerClaimsOf);
  if (classes.some(each => each === null)) return null;
  return [...classes.flatMap(each => each ?? []), ...(keys === undefined ? [] : [KEY_CALLERS])];
}

function noProvider(name: unknown, classes: readonly CallerClaims[]): string {
  const names = [...new Set(classes.flatMap(({ provider }) => provider ?? []))];
  return `no provider in gateway.yaml has this name${typeof name === 'string' ? didYouMean(name, names) : ''}`;
}
