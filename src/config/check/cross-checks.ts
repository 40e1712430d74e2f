import { parseDurationMs } from '../../core/index.ts';
import type { RoutePattern } from '../../gateway/routing/index.ts';
import { findConflicts, findHidden, GRPC_METHOD, RouteTable } from '../../gateway/routing/index.ts';
import { missingSdk } from '../../observe/index.ts';
import { asMap, type ConfigFile, didYouMean, isMap, type RawMap } from '../file/index.ts';
import type { HostPort, OwnRoute } from '../model/index.ts';
import { isAnswered, partsOf, upstreamsNamed } from '../policies/index.ts';
import { listenSchema, PROTOCOL_KEYS, type RouteConfig, routeKeys } from '../schema/index.ts';
import type { ProtocolKey } from '../values/index.ts';
import { checkClasses } from './caller-checks.ts';
import { checkIdentity, checkIntrospection, checkSecrets } from './identity-checks.ts';
import { checkRoutes, writtenPatternsOf } from './route-checks.ts';
import { checkServicePaths } from './service-path-checks.ts';
import * as signIn from './sign-in-checks.ts';
import { checkUpstreamHealth, checkUpstreamUrls } from './upstream-checks.ts';

/**
 * Checks how the parts of gateway.yaml fit together. Reads the raw value, so that an error in one part does not hide errors
 * in others; skips parts that are invalid in themselves, which validation has reported.
 */
export function crossCheck(file: ConfigFile): void {
  const { listen, upstreams, routes, timeouts } = asMap(file.value);
  checkListen(file, listen);
  checkKeepAlive(file, timeouts);
  const sketches = Array.isArray(routes) ? routes.map(sketchOf) : [];
  checkPatterns(file, sketches);
  if (isMap(upstreams) && Array.isArray(routes)) checkUpstreams(file, Object.keys(upstreams), sketches);
  checkUpstreamUrls(file);
  checkUpstreamHealth(file);
  checkUpstreamProtocols(file);
  checkRoutes(file);
  checkRedirects(file);
  checkServicePaths(file);
  checkIdentity(file);
  checkClasses(file);
  checkIntrospection(file);
  signIn.checkSignIn(file);
  signIn.checkNotices(file);
  signIn.checkProtectedResource(file);
  checkSecrets(file);
  checkSpanExport(file);
  checkState(file);
}

function checkState(file: ConfigFile): void {
  const { state, store } = asMap(file.value);
  if (asMap(state).counters === undefined || store === undefined || store === 'memory') return;
  const message = 'with Redis limits are counted there, and outlive a restart: "counters" changes nothing';
  file.add(['state', 'counters'], message, { about: 'key', severity: 'warning' });
}

/** The parts of a route that checks compare; `null` if one is invalid. */
interface RouteSketch {
  /** One per host. */
  readonly patterns: readonly RoutePattern[] | null;
  readonly upstreams: readonly string[] | null;
}

function sketchOf(route: unknown): RouteSketch {
  const raw = asMap(route);
  const upstream = routeKeys.upstream.safeParse(raw.upstream);
  return {
    patterns: writtenPatternsOf(raw),
    upstreams: upstream.success ? namesOf(upstream.data, raw) : null,
  };
}

function checkUpstreams(file: ConfigFile, names: readonly string[], routes: readonly RouteSketch[]): void {
  const known = new Set(names);
  for (const [index] of routes.entries()) checkNamed(file, index, names);
  // A route with an unknown upstream may have been meant to use an unused one.
  if (!routes.every(({ upstreams }) => upstreams?.every(name => known.has(name)) === true)) return;
  const used = new Set(routes.flatMap(({ upstreams }) => upstreams ?? []));
  for (const name of names) {
    if (used.has(name)) continue;
    const message = `no route uses the upstream "${name}"`;
    file.add(['upstreams', name], message, { about: 'key', severity: 'warning' });
  }
}

/** The upstreams of a route; `null` if it lacks one. */
function namesOf(upstream: RouteConfig['upstream'], route: RawMap): readonly string[] | null {
  if (upstream !== undefined) return partsOf(upstream).map(({ name }) => name);
  return isAnswered(route) ? [] : null;
}

/** Reports upstreams that are not there. */
function checkNamed(file: ConfigFile, index: number, names: readonly string[]): void {
  const route = asMap(file.valueAt(['routes', index]));
  for (const { name, path, about } of upstreamsNamed(route, ['routes', index])) {
    if (names.includes(name)) continue;
    const shown = about === 'key' ? file.shownKey(path) : file.shown(path);
    file.add(path, `no upstream is named ${shown}${didYouMean(name, names)}`, { about });
  }
}

function checkPatterns(file: ConfigFile, routes: readonly RouteSketch[]): void {
  const sound = routes.flatMap(({ patterns }, index) =>
    (patterns ?? []).map((pattern, at) => ({ pattern, index, at })),
  );
  const patterns = sound.map(({ pattern }) => pattern);
  const pathOf = (position: number) => {
    const { index = 0, pattern } = sound[position] ?? {};
    return ['routes', index, pattern?.methods?.includes(GRPC_METHOD) ? 'grpc' : 'path'];
  };
  /** Where the pattern differs from the route's others: at its host, if it has one. */
  const ownPlaceOf = (position: number) => {
    const { index = 0, pattern, at = 0 } = sound[position] ?? {};
    return (pattern?.host ?? null) === null ? pathOf(position) : ['routes', index, 'hosts', at];
  };
  const lineOf = (position: number) => file.place(ownPlaceOf(position)).line;
  const onHost = (position: number) => {
    const host = patterns[position]?.host ?? null;
    return host === null ? '' : ` on "${host}"`;
  };
  const own = signIn.ownRoutesIn(file);
  for (const [position, { pattern, at }] of sound.entries()) {
    const twin = at > 0 ? undefined : own.find(route => signIn.isOfOnePath(route.pattern, pattern));
    if (twin === undefined) continue;
    const what = WHAT[twin.value.kind];
    const where = pattern.host === null ? '' : ' on every host';
    file.add(pathOf(position), `the gateway serves this path itself${where}, for ${what}: remove the route`);
  }
  for (const [first, second] of findConflicts(patterns)) {
    const message = `this route matches the same requests${onHost(second)} as the one in line ${lineOf(first)}`;
    file.add(ownPlaceOf(second), message);
  }
  for (const { index, hiddenBy } of findHidden(patterns)) {
    const lines = [...new Set(hiddenBy.map(lineOf))].join(', ');
    const message = `no request${onHost(index)} reaches this route: more specific ones (line ${lines}) take them all`;
    file.add(ownPlaceOf(index), message, { severity: 'warning' });
  }
}

/** What each of the gateway's own routes is for. */
const WHAT: Readonly<Record<OwnRoute['kind'], string>> = {
  'sign-in': 'sign-in',
  notice: 'notices of the provider',
  metadata: '"protected_resource"',
};

/** Reports listeners with the same address. */
function checkListen(file: ConfigFile, value: unknown): void {
  const listen = listenSchema.safeParse(value ?? {});
  if (!listen.success) return;
  const { http, redirect, grpc, admin } = listen.data;
  if (redirect !== null && http.tls === undefined)
    file.add(['listen', 'redirect'], 'there is no https to send clients to: add "tls" to listen.http');
  const listeners = Object.entries({ http, redirect, grpc, admin });
  for (const [index, [name, listener]] of listeners.entries()) {
    const taken = listeners.slice(0, index).find(([, other]) => overlap(other, listener));
    if (taken !== undefined)
      file.add(['listen', name], `${taken[0]} already listens on this address: use another port`);
  }
}

/** Clients wait up to a minute for the next window, and load balancers keep idle connections about as long: 5 s more is safe. */
const USUAL_PAUSE_MS = 65_000;

function checkKeepAlive(file: ConfigFile, value: unknown): void {
  const { keep_alive } = asMap(value);
  const ms = typeof keep_alive === 'string' ? parseDurationMs(keep_alive) : undefined;
  if (ms === undefined || ms === 0 || ms >= USUAL_PAUSE_MS) return;
  const message =
    'clients and load balancers that pause for a minute would find their connections closed: use 65s or more';
  file.add(['timeouts', 'keep_alive'], message, { severity: 'warning' });
}

type Listening = { readonly address: HostPort } | null;

/** Whether two listeners need the same port. */
function overlap(one: Listening, other: Listening): boolean {
  if (one === null || other === null || one.address.port === 0) return false;
  const [a, b] = [one.address, other.address];
  return a.port === b.port && (a.host === b.host || isEveryAddress(a.host) || isEveryAddress(b.host));
}

function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host);
}

/** Reports keys of upstreams that do not apply to their protocol. */
function checkUpstreamProtocols(file: ConfigFile): void {
  const { upstreams } = asMap(file.value);
  for (const [name, value] of Object.entries(asMap(upstreams))) {
    const { protocol = 'http1' } = asMap(value);
    // Validation reports other values.
    if (protocol !== 'http1' && protocol !== 'h2' && protocol !== 'grpc') continue;
    for (const key of PROTOCOL_KEYS)
      if (!key.protocols.includes(protocol) && isSet(value, key.path)) addUseless(file, name, key, protocol);
  }
}

function addUseless(
  file: ConfigFile,
  name: string,
  { path, protocols }: ProtocolKey,
  protocol: string,
): void {
  const message = `"${path.at(-1)}" is for upstreams with protocol ${protocols.join(' or ')}: this one speaks ${protocol}`;
  file.add(['upstreams', name, ...path], message, { about: 'key' });
}

/** Whether an upstream has a value at this path. An empty map counts as none. */
function isSet(upstream: unknown, path: readonly string[]): boolean {
  let value: unknown = upstream;
  for (const key of path) value = asMap(value)[key];
  return isMap(value) ? Object.keys(value).length > 0 : value !== undefined;
}

/** Warns if spans cannot be exported from here. Not an error: the gateway may run elsewhere. */
function checkSpanExport(file: ConfigFile): void {
  const path = ['tracing', 'export'];
  if (!isMap(asMap(asMap(file.value).tracing).export)) return;
  const missing = missingSdk();
  if (missing !== null) file.add(path, missing, { severity: 'warning' });
}

/** Warns about redirects to a path that the same route matches again: browsers give up after twenty rounds. */
function checkRedirects(file: ConfigFile): void {
  const { routes } = asMap(file.value);
  const written = (Array.isArray(routes) ? routes : []).map(asMap);
  const targets = written.flatMap(({ redirect }, index) => {
    const { to } = asMap(redirect);
    return typeof to === 'string' && to.startsWith('/') ? [{ index, to }] : [];
  });
  if (targets.length === 0) return;
  const patterns = written.map(route => writtenPatternsOf(route) ?? []);
  const entries = patterns.flatMap((all, value) => all.map(pattern => ({ pattern, value })));
  if (findConflicts(entries.map(({ pattern }) => pattern)).length > 0) return;
  const table = new RouteTable(entries);
  for (const { index, to } of targets) {
    if (!patterns[index]?.some(pattern => redirectLoops(table, index, pattern, to))) continue;
    const message = 'this route takes that path itself: clients would be redirected in a circle';
    file.add(['routes', index, 'redirect', 'to'], message, { severity: 'warning' });
  }
}

/** Whether a request that follows the redirect matches the same route. A wildcard represents any of its hosts. */
function redirectLoops(
  table: RouteTable<number>,
  index: number,
  { methods, host }: RoutePattern,
  to: string,
): boolean {
  const path = to.split(/[?#]/)[0] ?? to;
  return table.find(methods?.[0] ?? 'GET', (host ?? '').replace('*', 'any'), path)?.value === index;
}
