import type { MethodNames, Steps } from '../../core/index.ts';
import { CallerShare } from '../../limits/index.ts';
import { TokenPlaces, WebhookPaths } from '../../wire/http/index.ts';
import type * as model from '../model/index.ts';
import type { UpstreamPart } from '../policies/index.ts';
import { compileAnswer, compilePolicies, partsOf } from '../policies/index.ts';
import type { RouteEntry, RoutePattern } from '../routing/index.ts';
import {
  isGrpcPattern,
  isRoutable,
  nameOf,
  parseGrpcPattern,
  parseRoutePattern,
  placeOf,
} from '../routing/index.ts';
import { minReadRate } from './min-read-rate.ts';
import type { RouteConfig } from './route-keys.ts';
import type { WrittenElsewhere } from './setting.ts';
import * as ofUpstreams from './upstreams.ts';

/**
 * Compiles a route, with a pattern for each of its hosts. Throws if the checks did not run: they report all routes that cannot be
 * compiled.
 */
export function compileRoute(
  config: RouteConfig,
  upstreams: ReadonlyMap<string, model.UpstreamModel>,
  { written, requirements }: WrittenElsewhere,
): RouteEntry<model.RouteOfFile>[] {
  const patterns = patternsOfRoute(config);
  const [first] = patterns;
  if (first === undefined) throw new Error('a route without a path was not checked');
  const name = {
    id: idOf(first, patterns.length - 1),
    methods: config.methods ?? null,
    parameters: first.parameters,
  };
  const context = { id: name.id, minReadRate: written(minReadRate).min_read_rate, requirements };
  const serves = config.grpc === undefined ? 'paths' : 'calls';
  const answer = compileAnswer(config);
  const forwardTo = (upstreamName: string): model.ForwardRoute => {
    const upstream = upstreams.get(upstreamName);
    const defaults = written(ofUpstreams.upstreams).upstreams[upstreamName]?.timeouts;
    if (upstream === undefined || defaults === undefined)
      throw new Error(`a route to the upstream ${upstreamName} was not checked`);
    const timeouts = Object.assign({}, defaults, config.timeouts);
    const pool = serves === 'calls' ? upstream.pools.grpc_calls : upstream.pools.requests;
    const policies = compilePolicies(config, serves, { ...context, upstream, timeouts });
    return { kind: 'forward', ...name, upstream, pool, shares: null, ...policies };
  };
  const answerWith = (answer: model.AnswerRoute['answer']): model.AnswerRoute => {
    const policies = compilePolicies(config, serves, { ...context, upstream: null, timeouts: null });
    return { kind: 'answer', ...name, upstream: null, answer, ...policies };
  };
  const value = answer === null ? forward(partsOf(config.upstream ?? ''), forwardTo) : answerWith(answer);
  return patterns.map(pattern => ({ pattern, value }));
}

/** @param parts the upstreams of the route, with their shares of callers */
function forward(
  parts: readonly UpstreamPart[],
  forwardTo: (upstream: string) => model.ForwardRoute,
): model.ForwardRoute {
  const routes = parts
    .filter(({ percent }) => percent > 0)
    .map(({ name, percent }) => ({ percent, route: forwardTo(name) }));
  const [largest] = routes.toSorted((a, b) => b.percent - a.percent);
  if (largest === undefined) throw new Error('a route leads to no upstream');
  return routes.length === 1 ? largest.route : { ...largest.route, shares: sharesOf(routes, parts) };
}

/**
 * Selects by the names of all upstreams, so that a caller gets the same upstream on all routes with the same ones. Includes those
 * with share 0: if one gets a share later, the others keep most of their callers.
 */
function sharesOf(
  routes: readonly { readonly percent: number; readonly route: model.ForwardRoute }[],
  named: readonly { readonly name: string }[],
): model.UpstreamShare[] {
  const seed = named.map(({ name }) => name).join(' ');
  let sum = 0;
  return routes.map(({ percent, route }) => {
    sum += percent;
    return { percent, upTo: new CallerShare(seed, sum), route };
  });
}

/**
 * Names a route by the first of its hosts, which no other route has with the same path and method, and by the number of the
 * others: a route may have a thousand, and its name is in all its metrics.
 */
function idOf(first: RoutePattern, others: number): string {
  return nameOf(others === 0 ? first : { ...first, host: `${first.host},+${others}` });
}

/** Returns the patterns of a route, one per host; none for a route that was not checked. */
export function patternsOfRoute({
  path,
  grpc,
  hosts,
  methods,
}: Pick<RouteConfig, 'path' | 'grpc' | 'hosts' | 'methods'>): RoutePattern[] {
  const written = hosts ?? [null];
  if (grpc !== undefined) return written.map(host => parseGrpcPattern(grpc, host));
  return path === undefined ? [] : written.map(host => parseRoutePattern(path, methods ?? null, host));
}

/**
 * Makes the route table for preflights that are left to upstreams, keyed by the requested method. On each path one route also
 * matches the methods that no route there names. If a route names OPTIONS, its service expects preflights and gets all those for
 * the path.
 */
export function* preflightRoutes(
  routes: readonly RouteEntry<model.RouteOfFile>[],
): Steps<RouteEntry<model.RouteOfFile>[]> {
  const byPath = new Map<string, RouteEntry<model.RouteOfFile>[]>();
  for (const route of routes) {
    yield;
    if (route.value.cors || isGrpcPattern(route.pattern)) continue;
    const place = placeOf(route.pattern);
    const others = byPath.get(place);
    if (others === undefined) byPath.set(place, [route]);
    else others.push(route);
  }
  return [...byPath.values()].flatMap(ofOnePath);
}

function ofOnePath(routes: readonly RouteEntry<model.RouteOfFile>[]): RouteEntry<model.RouteOfFile>[] {
  const named = routes.find(({ pattern }) => pattern.methods?.includes('OPTIONS'));
  const others = named === undefined ? routes : [];
  const first = named ?? routes.find(({ pattern }) => pattern.methods === null) ?? routes[0];
  if (first === undefined) return [];
  const forEveryMethod = { ...first, pattern: { ...first.pattern, methods: null } };
  return [forEveryMethod, ...others.filter(route => route !== first)];
}

/** The query parameters of all routes that may carry tokens; `null` if there are none. */
export function tokensInUrls(routes: readonly RouteEntry<model.RouteOfFile>[]): TokenPlaces | null {
  const places = routes
    .flatMap(({ value }) => value.tokenFrom?.all ?? [])
    .filter(({ kind }) => kind === 'query');
  return places.length === 0 ? null : new TokenPlaces(places);
}

/** The addresses of webhooks, whatever the method and whatever follows. */
export function webhookPaths(routes: readonly RouteEntry<model.RouteOfFile>[]): WebhookPaths {
  const webhooks = routes.filter(({ value }) => value.webhook);
  return new WebhookPaths(webhooks.map(({ value: { id } }) => id.slice(id.indexOf('/'))));
}

/** The methods that routes name besides those that every gateway knows. */
export function namedMethods(routes: readonly RouteEntry<model.RouteOfFile>[]): MethodNames {
  const named = routes.flatMap(({ value }) => value.methods ?? []).filter(method => !isRoutable(method));
  return new Map(named.map(method => [method, method]));
}
