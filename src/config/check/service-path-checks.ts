import { isSame } from '../../core/index.ts';
import { asMap, type ConfigFile, type RawMap } from '../file/index.ts';
import { literalsOf, upstreamsNamed } from '../policies/index.ts';
import { methodsMeet, parseRoutePattern, pathCovers, Reach, type RoutePattern } from '../routing/index.ts';
import { firstWrittenUrl, routeKeys, upstreamKeys } from '../settings/index.ts';
import { routesIn, writtenPatternsOf } from './route-checks.ts';

type Segments = RoutePattern['segments'];

interface SentRoute {
  readonly index: number;
  readonly raw: RawMap;
  readonly pattern: RoutePattern;
  /** How many segments it strips, and which ones, joined by slashes. */
  readonly stripped: number;
  readonly prefix: string;
  readonly upstreams: readonly string[];
}

/** Checks the paths that services receive with `strip_prefix` and URLs with a path. */
export function checkServicePaths(file: ConfigFile): void {
  const { upstreams } = asMap(file.value);
  const sent = routesIn(file).flatMap(({ raw }, index) => sentRouteOf(raw, index));
  const named = sent.flatMap(route => route.upstreams.map(name => ({ name, route })));
  const groups = [...Map.groupBy(named, ({ name }) => name)];
  const byUpstream = new Map(groups.map(([name, each]) => [name, each.map(({ route }) => route)]));
  for (const [name, group] of byUpstream) hintAtPrefixes(file, asMap(asMap(upstreams)[name]), name, group);
  warnOfWaysAround(file, sent, byUpstream);
  for (const group of byUpstream.values()) checkOddPaths(file, group);
}

/**
 * Reports routes whose services may read a path as one of a guarded route. Any service may do so with empty segments. A service
 * that decodes escaped slashes may, if the segments after the route's literals can become those of the guarded route.
 */
function checkOddPaths(file: ConfigFile, routes: readonly SentRoute[]): void {
  const odd = routes.filter(({ raw }) => raw.empty_segments === 'pass' || raw.encoded_slashes === 'pass');
  const guards = odd.length === 0 ? [] : routes.filter(({ raw }) => isGuarded(raw));
  for (const route of odd) {
    const { index, raw } = route;
    const guarded = guards.filter(other => other.index !== index && demandsLess(route, other));
    const lineOf = (other: SentRoute) => file.place(['routes', other.index, 'path']).line;
    const [first] = guarded;
    if (first !== undefined && raw.empty_segments === 'pass')
      file.add(
        ['routes', index, 'empty_segments'],
        `a service may read such paths as those of the route in line ${lineOf(first)}, which demands more of callers: write merge`,
      );
    const reached = guarded.find(other => mayDecodeTo(route, other));
    if (reached !== undefined && raw.encoded_slashes === 'pass')
      file.warn(
        ['routes', index, 'encoded_slashes'],
        `a service that decodes "%2F" is led to the route in line ${lineOf(reached)}, which demands more of callers: let this route demand as much, or see that the service does not decode`,
      );
  }
}

/** Whether a path of a route can become one of another once its escaped slashes are decoded. */
function mayDecodeTo({ pattern, stripped }: SentRoute, guarded: SentRoute): boolean {
  const literals = literalsOf(pattern);
  if (literals.length === pattern.segments.length) return false;
  const theirs = guarded.pattern.segments.slice(guarded.stripped);
  return literals.slice(stripped).every((folded, at) => {
    const segment = theirs[at];
    return segment !== undefined && (segment.kind !== 'literal' || segment.folded === folded);
  });
}

/** Returns nothing for a route that is invalid, or that serves gRPC. */
function sentRouteOf(raw: RawMap, index: number): SentRoute[] {
  const patterns = raw.grpc === undefined ? writtenPatternsOf(raw) : null;
  const prefix = routeKeys.strip_prefix.safeParse(raw.strip_prefix);
  if (patterns === null || !prefix.success) return [];
  const stripped = (prefix.data ?? '').split('/').length - 1;
  const upstreams = upstreamsNamed(raw, []).map(({ name }) => name);
  return patterns.flatMap(pattern => {
    const literals = literalsOf(pattern);
    // The policy itself reports a prefix that the path does not begin with.
    if (stripped > literals.length) return [];
    return [{ index, raw, pattern, stripped, prefix: literals.slice(0, stripped).join('/'), upstreams }];
  });
}

/** Hints at routes with a prefix that the service probably does not know. */
function hintAtPrefixes(
  file: ConfigFile,
  upstream: RawMap,
  name: string,
  routes: readonly SentRoute[],
): void {
  const base = baseOf(upstream);
  const strippers = new Map(routes.map(route => [route.prefix, route] as const).reverse());
  const whole = routes.filter(({ stripped }) => stripped === 0);
  const shapes = new Map(whole.map(route => [shapeOf(route.pattern.segments), route] as const).reverse());
  for (const route of routes) {
    const path = ['routes', route.index, 'path'];
    const twice = route.stripped === 0 ? prefixOfAnother(route, strippers, shapes) : null;
    if (file.holdsVariable(path)) continue;
    const hint = (message: string) => file.hint(path, message);
    const lineOf = ({ index }: SentRoute) => file.place(['routes', index, 'path']).line;
    if (beginsWith(route, base)) {
      const text = `/${base.join('/')}`;
      hint(
        `the url of "${name}" has the path ${text} as well, so the service gets ${text}${text}: take it out of the url, or add it to strip_prefix`,
      );
    } else if (twice !== null) {
      const text = route.pattern.path.split('/', 1 + twice.length).join('/');
      hint(
        `the service gets these paths with ${text}, but those of the route in line ${lineOf(twice.other)} without it: if it does not know ${text}, add strip_prefix: ${text}`,
      );
    }
  }
}

/** The segments of the path in the URL; none for a URL without a path, or for an invalid one. */
function baseOf(upstream: RawMap): readonly string[] {
  const { data } = upstreamKeys.url.safeParse(firstWrittenUrl(upstream));
  return data === undefined || data.base === '' ? [] : literalsOf(parseRoutePattern(data.base, null));
}

/** True if the paths that a route sends already begin with the base, which the gateway prepends. */
function beginsWith({ pattern, stripped }: SentRoute, base: readonly string[]): boolean {
  const literals = literalsOf(pattern).slice(stripped);
  return base.length > 0 && base.every((segment, index) => segment === literals[index]);
}

/**
 * Finds another route to the same upstream that sends this route's paths without some of their first segments, by stripping them
 * or by matching the shorter paths. A version alone, such as `v1`, proves nothing.
 */
function prefixOfAnother(
  { pattern }: SentRoute,
  strippers: ReadonlyMap<string, SentRoute>,
  shapes: ReadonlyMap<string, SentRoute>,
): { readonly length: number; readonly other: SentRoute } | null {
  const literals = literalsOf(pattern);
  for (let length = 1; length <= literals.length; length++) {
    const prefix = literals.slice(0, length);
    const rest = pattern.segments.slice(length);
    const isTold = rest.some(({ kind }) => kind === 'literal') && !prefix.every(text => /^v\d+$/.test(text));
    const other = strippers.get(prefix.join('/')) ?? (isTold ? shapes.get(shapeOf(rest)) : undefined);
    if (other !== undefined) return { length, other };
  }
  return null;
}

function shapeOf(segments: Segments): string {
  return segments
    .map(segment => (segment.kind === 'literal' ? `=${segment.folded}` : segment.kind))
    .join('/');
}

/** Maximum number of route lookups in a reload. If a file has more pairs of prefixes and guarded routes, the rest is not checked. */
const MAX_LOOKUPS = 5_000;

/**
 * Warns of routes that bypass another: `/pub/**` without its prefix sends `/pub/admin/x` as `/admin/x`, which another route allows
 * only to some callers. If a more specific route exists for such paths, it is assumed to be intended.
 */
function warnOfWaysAround(
  file: ConfigFile,
  sent: readonly SentRoute[],
  byUpstream: ReadonlyMap<string, readonly SentRoute[]>,
): void {
  const ways = new WaysAround(file, sent);
  let lookups = 0;
  for (const [upstream, routes] of byUpstream) {
    const doors = new Map(routes.map(route => [`${route.pattern.host} ${route.prefix}`, route] as const));
    for (const guarded of routes.filter(({ raw }) => isGuarded(raw)))
      for (const door of doors.values()) {
        if (door.prefix === guarded.prefix && door.pattern.host === guarded.pattern.host) continue;
        if (++lookups > MAX_LOOKUPS) return;
        if (door.prefix === guarded.prefix) ways.warnOfOtherHost(guarded, door, upstream);
        else ways.warnOfOtherPrefix(guarded, door, upstream);
      }
  }
}

class WaysAround {
  readonly #file: ConfigFile;
  readonly #sent: readonly SentRoute[];
  readonly #byHost: ReadonlyMap<string | null, readonly SentRoute[]>;
  /** The reach of the routes of each host; under `undefined`, that of all routes. */
  readonly #reaches = new Map<string | null | undefined, Reach>();
  /** Reported pairs: a route with many hosts is reported once for each route that it bypasses. */
  readonly #told = new Set<string>();

  constructor(file: ConfigFile, sent: readonly SentRoute[]) {
    this.#file = file;
    this.#sent = sent;
    this.#byHost = Map.groupBy(sent, ({ pattern }) => pattern.host);
  }

  /** Warns of routes, on any host, that send the paths of another by stripping different segments. */
  warnOfOtherPrefix(guarded: SentRoute, { pattern, prefix, stripped }: SentRoute, upstream: string): void {
    const segments = [
      ...pattern.segments.slice(0, stripped),
      ...guarded.pattern.segments.slice(guarded.stripped),
    ];
    const line = { ...guarded.pattern, host: pattern.host, segments };
    for (const route of this.#takersOf(line, undefined)) {
      const isAround = route.prefix === prefix && route.upstreams.includes(upstream);
      if (isAround && pathCovers(route.pattern, line) && demandsLess(route, guarded))
        addWayAround(this.#file, route, guarded);
    }
  }

  /**
   * Warns of routes that match the paths of another on their own host. A route for exactly the same path is assumed to be intended.
   */
  warnOfOtherHost(guarded: SentRoute, { pattern: { host }, prefix }: SentRoute, upstream: string): void {
    const isAround = (route: SentRoute) =>
      route.prefix === prefix &&
      route.upstreams.includes(upstream) &&
      shapeOf(route.pattern.segments) !== shapeOf(guarded.pattern.segments) &&
      pathCovers(route.pattern, guarded.pattern) &&
      asksLess(route, guarded);
    const line = { ...guarded.pattern, host };
    for (const route of this.#takersOf(line, host))
      if (isAround(route)) this.#warnOnce(route, guarded, 'all');
    for (const route of this.#takersOf({ ...line, methods: null }, host))
      if (isAround(route) && this.#isForOthersAlone(route, guarded, upstream))
        this.#warnOnce(route, guarded, 'others');
  }

  /**
   * Whether a route only has methods that the guarded route lacks, and no route for the guarded one's host admits these methods
   * with equally few requirements.
   */
  #isForOthersAlone(route: SentRoute, guarded: SentRoute, upstream: string): boolean {
    const { host, methods } = route.pattern;
    if (methodsMeet(methods, guarded.pattern.methods)) return false;
    const line = { ...guarded.pattern, methods };
    return (
      this.#takersOf({ ...line, host }, host).includes(route) &&
      !this.#takersOf(line, undefined).some(
        other =>
          other.upstreams.includes(upstream) && other.prefix === guarded.prefix && !asksLess(route, other),
      )
    );
  }

  #takersOf(line: RoutePattern, host: string | null | undefined): SentRoute[] {
    const routes = host === undefined ? this.#sent : (this.#byHost.get(host) ?? []);
    const reach = this.#reaches.get(host) ?? new Reach(routes.map(({ pattern }) => pattern));
    this.#reaches.set(host, reach);
    return reach.takersOf(line).flatMap(index => routes[index] ?? []);
  }

  #warnOnce(route: SentRoute, guarded: SentRoute, methods: 'all' | 'others'): void {
    const pair = `${route.index} ${guarded.index}`;
    if (this.#told.has(pair)) return;
    this.#told.add(pair);
    const { host } = route.pattern;
    const { path } = guarded.pattern;
    const by = methods === 'all' ? '' : ' by other methods';
    const takes = host === null ? `${path} on all other hosts${by}` : `${host}${path}${by}`;
    const file = this.#file;
    const hidden = file.holdsVariable(['routes', guarded.index, 'path']) || hostsHoldVariable(file, route);
    const how = hidden ? '' : `: it takes ${takes}`;
    addAround(file, route, guarded, host === null ? 'path' : 'hosts', how);
  }
}

/** Whether a route demands less of callers than another. Two different requirements count as equal. */
function asksLess(route: SentRoute, guarded: SentRoute): boolean {
  return isLess(route, guarded, own => own !== undefined);
}

/** The same, but two different requirements are not equal: each may refuse callers that the other admits. */
function demandsLess(route: SentRoute, guarded: SentRoute): boolean {
  return isLess(route, guarded, isSame);
}

function isLess(
  { raw }: SentRoute,
  { raw: guarded }: SentRoute,
  suffices: (own: unknown, other: unknown) => boolean,
): boolean {
  const lacks = (['require', 'networks'] as const).some(
    key => guarded[key] !== undefined && !suffices(raw[key], guarded[key]),
  );
  return demandOf(raw) < demandOf(guarded) || lacks;
}

function hostsHoldVariable(file: ConfigFile, { index, raw: { hosts } }: SentRoute): boolean {
  const at = ['routes', index, 'hosts'];
  return (
    file.holdsVariable(at) || (Array.isArray(hosts) && hosts.some((_, i) => file.holdsVariable([...at, i])))
  );
}

const LEVELS = ['none', 'optional', 'required'];

function isGuarded(raw: RawMap): boolean {
  return demandOf(raw) > 0 || raw.require !== undefined || raw.networks !== undefined;
}

function demandOf({ authentication = 'required' }: RawMap): number {
  return LEVELS.indexOf(String(authentication));
}

function addWayAround(file: ConfigFile, route: SentRoute, guarded: SentRoute): void {
  const hidden = [route, guarded].some(({ index }) => file.holdsVariable(['routes', index, 'path']));
  const rest = `/${guarded.pattern.path
    .split('/')
    .slice(1 + guarded.stripped)
    .join('/')}`;
  const through = route.pattern.path.split('/', 1 + route.stripped).join('/') + rest;
  const sends = through === rest ? `it sends ${rest} as well` : `${through} is sent as ${rest}`;
  addAround(file, route, guarded, route.stripped === 0 ? 'path' : 'strip_prefix', hidden ? '' : `: ${sends}`);
}

function addAround(file: ConfigFile, route: SentRoute, guarded: SentRoute, key: string, how: string): void {
  const { line } = file.place(['routes', guarded.index, 'path']);
  const message = `this route bypasses the one in line ${line}, which demands more of callers${how}. Add a route for those paths that demands as much`;
  file.warn(['routes', route.index, key], message);
}
