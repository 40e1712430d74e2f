import { Reach, type RoutePattern } from '../../routing/index.ts';
import { QUOTA_KEYS, scopeReason } from '../compile/index.ts';
import { asMap, type ConfigFile, type LimitsFiles } from '../file/index.ts';
import { type CallerClass, callerClassesOf, type ForwardRoute } from '../model/index.ts';
import { routeKeys } from '../schema/index.ts';
import { checkOrder } from './limit-order.ts';
import { patternOf } from './route-checks.ts';
import { ownRoutesIn } from './sign-in-checks.ts';

/** A line of `routes:`, as far as it is valid in itself. */
export interface LimitLine {
  readonly line: string;
  readonly pattern: RoutePattern | null;
  /** The bucket that the line names; `null` if it names none, which validation reports. */
  readonly bucket: string | null;
}

type Authentication = ForwardRoute['authentication'];

/** The part of a route of gateway.yaml that matters to limits. */
interface Taker {
  readonly pattern: RoutePattern;
  readonly authentication: Authentication;
  /** Whether it is exempt from the global limit. */
  readonly exempt: boolean;
}

/**
 * Checks which lines of limits.yaml requests can reach, given the routes of gateway.yaml. Reports nothing while a route is
 * invalid, since it may be the one that reaches a line.
 */
export function checkReach(file: LimitsFiles, lines: readonly LimitLine[], gateway: ConfigFile): void {
  const takers = takersIn(gateway);
  if (takers === null) return;
  const reached = new Map<string, Taker[]>();
  const reach = new Reach(takers.map(({ pattern }) => pattern));
  for (const { line, pattern } of lines) {
    if (pattern === null) continue;
    const found = reach.takersOf(pattern).flatMap(index => takers[index] ?? []);
    reached.set(line, found);
    if (found.length > 0) continue;
    const message = `no route of gateway.yaml takes what "${line}" matches`;
    file.add(['routes', line], message, { about: 'key', severity: 'warning' });
  }
  const { access_tokens: tokens, identity_providers: several } = asMap(gateway.value);
  const sections: readonly unknown[] = Array.isArray(several) ? several : [tokens];
  const hasBots = sections.some(section => ![undefined, 'none'].includes(asMap(section).bots as string));
  const byBucket = Map.groupBy(lines, ({ bucket }) => bucket);
  for (const name of Object.keys(asMap(asMap(file.value).buckets))) {
    const lines = byBucket.get(name) ?? [];
    const of = lines.map(({ line }) => reached.get(line) ?? []);
    const kinds = of.flat().map(({ authentication }) => authentication);
    if (isSharedUnsaid(file, name, lines)) checkFloods(file, name, kinds);
    // Skips buckets with an unreached line: the operator may have removed its route for a while.
    if (of.length === 0 || of.some(takers => takers.length === 0)) continue;
    checkClasses(file, name, kinds, hasBots);
    const classes = [...new Set(kinds.flatMap(kind => callerClassesOf(kind, hasBots)))];
    checkOrder(file, name, { classes, exempt: of.flat().some(({ exempt }) => exempt) });
  }
}

/** Returns the routes of gateway.yaml and the gateway's own; `null` if one is invalid. */
function takersIn(gateway: ConfigFile): Taker[] | null {
  const { routes } = asMap(gateway.value);
  if (!Array.isArray(routes)) return null;
  const takers = routes.map((route): Taker | null => {
    const raw = asMap(route);
    const pattern = patternOf(raw);
    const authentication = routeKeys.authentication.safeParse(raw.authentication);
    if (pattern === null || !authentication.success) return null;
    return { pattern, authentication: authentication.data, exempt: raw.global_limit === 'exempt' };
  });
  const own = ownRoutesIn(gateway).map(
    ({ pattern, value }): Taker => ({
      pattern,
      authentication: value.authentication,
      exempt: false,
    }),
  );
  const sound = takers.filter(taker => taker !== null);
  return sound.length === takers.length ? [...sound, ...own] : null;
}

/** Lists the patterns of lines, except invalid ones, which validation reports. */
export function patternsOf(lines: readonly LimitLine[]): RoutePattern[] {
  return lines.flatMap(({ pattern }) => pattern ?? []);
}

/** Whether a bucket is shared because of its lines, and not because the operator said so. */
function isSharedUnsaid(file: LimitsFiles, name: string, lines: readonly LimitLine[]): boolean {
  return !file.has(['buckets', name, 'scope']) && scopeReason(patternsOf(lines)) !== 'one_line';
}

/**
 * Hints that a flood from addresses meets no restriction: 429s of a shared bucket do not count as invalid requests, and
 * `ignored_refusals` restricts addresses only if it says so.
 */
function checkFloods(file: LimitsFiles, name: string, kinds: readonly Authentication[]): void {
  const serves = kinds.some(kind => callerClassesOf(kind, false).includes('address'));
  const limits = QUOTA_KEYS.address.some(key => file.has(['buckets', name, key]));
  const { ignored_refusals: rule, buckets } = asMap(file.value);
  const isInShadow = asMap(asMap(buckets)[name]).shadow === true;
  if (!serves || !limits || isInShadow || asMap(rule).addresses === true) return;
  const message = `nothing restricts an address that floods the bucket "${name}": 429s of a shared bucket do not count as invalid requests. If something should, write "scope: user" for the bucket, or "ignored_refusals: { addresses: true }"`;
  file.add(['buckets', name], message, { about: 'key', severity: 'hint' });
}

const CLASSES = ['bot', 'user', 'address'] as const;

/**
 * Reports quotas for classes that no caller of the bucket's routes can have. Only a hint, since another gateway that reads the
 * same limits.yaml may have such callers.
 */
function checkClasses(
  file: LimitsFiles,
  name: string,
  kinds: readonly Authentication[],
  hasBots: boolean,
): void {
  const written = CLASSES.filter(key => file.has(['buckets', name, key]));
  const possible = new Set(kinds.flatMap(kind => callerClassesOf(kind, hasBots)));
  const used = [...possible].map(callerClass => QUOTA_KEYS[callerClass].find(key => written.includes(key)));
  const withToken = possible.has('user');
  for (const key of written) {
    if (used.includes(key)) continue;
    file.add(['buckets', name, key], whyNobody(key, withToken), { about: 'key', severity: 'hint' });
  }
}

function whyNobody(key: CallerClass, withToken: boolean): string {
  if (key === 'address')
    return '"address" has no effect: the routes of this bucket require a token, and without one only the global limit applies';
  if (withToken) return '"bot" has no effect: gateway.yaml has no rule for "bots"';
  return `"${key}" has no effect: the routes of this bucket ignore tokens, so every caller is an address`;
}
