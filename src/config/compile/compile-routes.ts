import { type MethodNames, NOTICE_KINDS, type Steps } from '../../core/index.ts';
import type { RouteEntry, RoutePattern } from '../../gateway/routing/index.ts';
import {
  findConflicts,
  isGrpcPattern,
  isRoutable,
  nameOf,
  parseGrpcPattern,
  parseRoutePattern,
  placeOf,
} from '../../gateway/routing/index.ts';
import { CallerShare } from '../../limits/index.ts';
import { TokenPlaces, WebhookPaths } from '../../wire/http/index.ts';
import type * as model from '../model/index.ts';
import type { Requirements, UpstreamPart } from '../policies/index.ts';
import { compileAnswer, compilePolicies, partsOf } from '../policies/index.ts';
import type { GatewayConfig, NoticePlaces, RouteConfig } from '../settings/index.ts';
import { issuersOf, metadataRoutes, ownRoute } from './protected-resource.ts';

/**
 * Compiles a route, with a pattern for each of its hosts. Throws if the checks did not run: they report all routes that cannot be
 * compiled.
 */
export function compileRoute(
  config: RouteConfig,
  gateway: GatewayConfig,
  upstreams: ReadonlyMap<string, model.UpstreamModel>,
  requirements: Requirements,
): RouteEntry<model.RouteOfFile>[] {
  const patterns = patternsOfRoute(config);
  const [first] = patterns;
  if (first === undefined) throw new Error('a route without a path was not checked');
  const name = {
    id: idOf(first, patterns.length - 1),
    methods: config.methods ?? null,
    parameters: first.parameters,
  };
  const context = { id: name.id, minReadRate: gateway.min_read_rate, requirements };
  const serves = config.grpc === undefined ? 'paths' : 'calls';
  const answer = compileAnswer(config);
  const forwardTo = (upstreamName: string): model.ForwardRoute => {
    const upstream = upstreams.get(upstreamName);
    const defaults = gateway.upstreams[upstreamName]?.timeouts;
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

/** The gateway's own routes: for sign-in, and for notices from providers. */
export function ownRoutesOf(
  { sign_in, protected_resource: resource, access_tokens: tokens }: GatewayConfig,
  identity: model.IdentityModel | null,
  requirements: Requirements,
  asksForCertificates: boolean,
): readonly RouteEntry<model.OwnRoute>[] {
  const providers = identity?.providers ?? [];
  const metadata =
    resource === undefined
      ? []
      : metadataRoutes({
          ...resource,
          issuers: providers.flatMap(({ provider }) => issuersOf(provider)),
          scopes: requirements.scopes,
          certificates: tokens?.certificate_field !== undefined || asksForCertificates,
          dpop: tokens?.dpop?.mode ?? 'off',
        });
  return [...signInRoutes(sign_in), ...noticeRoutes(providers.map(({ notices }) => notices)), ...metadata];
}

/**
 * The anonymous endpoints (docs/contract.md, 1). They match every method in every configuration, so that no operator's route ever
 * receives the codes that clients send there.
 */
const ANONYMOUS_ROUTES: readonly RouteEntry<model.SignInRoute>[] = [
  signInRoute('/v1/anonymous/authorize-url', 'authorize-url', ['GET', 'HEAD']),
  signInRoute('/v1/anonymous/auth', 'auth', ['POST']),
];

/**
 * Only routes that name this prefix literally match other paths under it: a mistyped path (`/v1/anonymous/auth%20`) must not
 * carry a code to the service behind `/**`.
 */
export const SIGN_IN_PREFIX = parseRoutePattern('/v1/anonymous/**', null);

/** The routes of sign-in: the anonymous ones and those of `sign_in`, which also match every method. */
export function signInRoutes(config: SignInPaths | undefined): readonly RouteEntry<model.SignInRoute>[] {
  const { refresh, sign_out: signOut } = config ?? {};
  return [
    ...ANONYMOUS_ROUTES,
    ...(refresh === undefined ? [] : [signInRoute(refresh, 'refresh', ['POST'])]),
    ...(signOut === undefined ? [] : [signInRoute(signOut, 'sign-out', ['POST'], 'required')]),
  ];
}

type SignInPaths = Pick<Partial<NonNullable<GatewayConfig['sign_in']>>, 'refresh' | 'sign_out'>;

function signInRoute(
  path: string,
  endpoint: model.SignInEndpoint,
  methods: readonly string[],
  authentication: model.SignInRoute['authentication'] = 'none',
): RouteEntry<model.SignInRoute> {
  return ownRoute(path, { kind: 'sign-in', endpoint, methods, authentication });
}

/** The routes of notices on public paths. Several providers may share one. */
export function noticeRoutes(all: readonly NoticePlaces[]): readonly RouteEntry<model.NoticeRoute>[] {
  const routes: RouteEntry<model.NoticeRoute>[] = [];
  for (const places of all)
    for (const notice of NOTICE_KINDS) {
      const place = places[notice];
      if (place === null || place === 'admin') continue;
      // Matches every method, so that no operator's route ever receives what a provider sends there.
      const how = { methods: ['POST'], authentication: 'none' } as const;
      const route = ownRoute(place, { kind: 'notice' as const, notice, ...how });
      const twin = routes.some(
        ({ value, pattern }) => value.notice === notice && findConflicts([pattern, route.pattern]).length > 0,
      );
      if (!twin) routes.push(route);
    }
  return routes;
}
