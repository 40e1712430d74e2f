import { eachInSteps, type NoticeKind, type Protocol, type Steps } from '../../core/index.ts';
import type { RouteEntry } from '../../gateway/routing/index.ts';
import { LIMIT_ROLES, type LimitsByRole, limitsIn, periodAmongSeveral } from '../../limits/index.ts';
import type { BucketLabels, Ending, LabelModel, RouteLabels } from '../../observe/index.ts';
import type * as model from '../model/index.ts';
import { classNames, hasBots, noticeKindsIn, signInProvider } from '../model/index.ts';
import type { ListenModel } from '../settings/index.ts';

/** The parts of a configuration that label values come from. */
interface LabelSources {
  readonly listen: ListenModel;
  readonly upstreams: Iterable<string>;
  readonly routes: readonly RouteEntry<model.RouteOfFile>[];
  /** The gateway's own routes. */
  readonly ownRoutes: readonly RouteEntry<model.OwnRoute>[];
  readonly limits: model.LimitsModel;
  readonly limitRoutes: readonly RouteEntry<model.LimitRouteModel>[];
  /** `null` without an identity provider. */
  readonly identity: model.IdentityModel | null;
  readonly routeDurations: boolean;
}

export function* compileLabels(sources: LabelSources): Steps<LabelModel> {
  const { listen, upstreams, identity, routeDurations } = sources;
  const signsIn = signInProvider(identity) !== null;
  const own = sources.ownRoutes.map(({ value }) => value).filter(({ kind }) => kind !== 'sign-in' || signsIn);
  // A route with several hosts has an entry for each.
  const routes = [...new Set(sources.routes.map(({ value }) => value))].flatMap(waysOf);
  return {
    routes: yield* routeLabels(routes, own, listen),
    upstreams: [...upstreams],
    webSocketUpstreams: [
      ...new Set(
        routes.flatMap(({ websocket, upstream }) =>
          websocket === null || upstream === null ? [] : [upstream.name],
        ),
      ),
    ],
    buckets: yield* bucketLabels(sources),
    tlsListeners: (['http', 'grpc'] as const).filter(name => (listen[name]?.tls ?? null) !== null),
    providers:
      identity === null || identity.providers.length === 0
        ? null
        : identity.providers.map(({ label }) => label),
    introspects:
      routes.some(({ introspectionMs }) => introspectionMs !== null) ||
      identity?.providers.some(({ opaqueTokens }) => opaqueTokens !== null) === true,
    refreshes: own.some(each => each.kind === 'sign-in' && each.endpoint === 'refresh'),
    signsOut: own.some(each => each.kind === 'sign-in' && each.endpoint === 'sign-out'),
    dpop: identity !== null && identity.dpop !== null,
    notices: identity === null ? [] : noticeKindsIn(...identity.providers.map(({ notices }) => notices)),
    routeDurations,
  };
}

function* routeLabels(
  routes: readonly model.RouteOfFile[],
  own: readonly model.OwnRoute[],
  { http, grpc }: ListenModel,
): Steps<RouteLabels[]> {
  const ofPaths: readonly Protocol[] = http.tls !== null || http.h2c ? ['http1', 'h2'] : ['http1'];
  const takesCalls = grpc !== null || routes.some(isGrpc);
  return [
    ...(yield* eachInSteps(routes, route => labelsOfRoute(route, ofPaths))).flat(),
    ...own.map(each => ({
      route: each.id,
      upstream: 'none',
      protocols: ofPaths,
      endings: endingsOfOwn(each),
    })),
    {
      route: 'none',
      upstream: 'none',
      protocols: takesCalls ? [...ofPaths, 'grpc'] : ofPaths,
      endings: NO_ROUTE,
    },
  ];
}

/** Returns a route for each of the upstreams that split its callers. */
function waysOf(route: model.RouteOfFile): readonly model.RouteOfFile[] {
  if (route.kind === 'answer' || route.shares === null) return [route];
  return route.shares.map(share => share.route);
}

function labelsOfRoute(forward: model.RouteOfFile, ofPaths: readonly Protocol[]): RouteLabels[] {
  const { id: route, authentication, requirement, websocket } = forward;
  const known = authentication === 'required' ? 'guarded' : 'open';
  const access = requirement === null ? known : 'restricted';
  if (forward.kind === 'answer') {
    const endings = [...answered(String(forward.answer.status)), ...ANSWER[access]];
    return [{ route, upstream: 'none', protocols: ofPaths, endings }];
  }
  const upstream = forward.upstream.name;
  if (isGrpc(forward)) {
    const protocols: readonly Protocol[] = forward.grpcWeb ? ['grpc', 'grpc_web'] : ['grpc'];
    return [{ route, upstream, protocols, endings: CALL[access] }];
  }
  const requests = { route, upstream, protocols: ofPaths, endings: REQUEST[access] };
  if (websocket === null) return [requests];
  return [requests, { route, upstream, protocols: ['websocket'], endings: WEB_SOCKET[access] }];
}

function endingsOfOwn(own: model.OwnRoute): readonly Ending[] {
  switch (own.kind) {
    case 'sign-in':
      return SIGN_IN[own.endpoint];
    case 'notice':
      return NOTICE[own.notice];
    case 'metadata':
      return METADATA;
  }
}

function isGrpc(route: model.RouteOfFile): boolean {
  return route.kind === 'forward' && route.pool.name === 'grpc_calls';
}

/** The outcomes that are counted from 0, so that the first failure of a service shows as a rate. Others may occur as well. */
const REQUEST = endings([
  ['200', 'forwarded'],
  ['200', 'truncated'],
  ['500', 'forwarded'],
  ['502', 'forwarded'],
  ['503', 'forwarded'],
  ['504', 'forwarded'],
]);
const CALL = endings([['200', 'forwarded']]);
const WEB_SOCKET = endings([
  ['101', 'forwarded'],
  ['101', 'abandoned'],
  ['101', 'truncated'],
]);
const ANSWER = {
  open: answered('429', '503'),
  guarded: answered('401', '429', '503'),
  restricted: answered('401', '403', '429', '503'),
};
const ANONYMOUS = answered('200', '400', '405', '429', '500', '502', '503', '504');
const SIGN_IN: Readonly<Record<model.SignInEndpoint, readonly Ending[]>> = {
  'authorize-url': ANONYMOUS,
  auth: ANONYMOUS,
  refresh: [...ANONYMOUS, ...answered('401')],
  'sign-out': answered('204', '400', '401', '405', '429', '500', '502', '503', '504'),
};
const NOTICE: Readonly<Record<NoticeKind, readonly Ending[]>> = {
  not_before_push: answered('204', '400', '405', '429', '503'),
  back_channel_logout: answered('200', '400', '405', '429', '503'),
};
const METADATA = answered('200', '405', '429', '503');
const NO_ROUTE = answered('400', '404', '408', '429', '431', '503');

/**
 * Returns how exchanges end on routes without a required token, with one, and with one that has to meet requirements. Called
 * once, because there may be ten thousand routes.
 */
function endings(
  own: readonly Ending[],
): Readonly<Record<'open' | 'guarded' | 'restricted', readonly Ending[]>> {
  const open = [...own, ...answered('429', '500', '502', '503', '504')];
  const guarded = [...open, ...answered('401')];
  return { open, guarded, restricted: [...guarded, ...answered('403')] };
}

function answered(...statuses: readonly string[]): Ending[] {
  return statuses.map(status => [status, 'answered']);
}

function* bucketLabels({ limits, limitRoutes, identity }: LabelSources): Steps<BucketLabels[]> {
  const classes = classesOf(identity);
  const buckets = new Set(limitRoutes.map(({ value }) => value.bucket));
  const priced = new Set(limitRoutes.flatMap(({ value }) => (value.price === null ? [] : [value.bucket])));
  const ofBuckets = yield* eachInSteps(buckets, bucket =>
    classes.map(callerClass => ({
      bucket: bucket.name,
      callerClass,
      ...windowLabels(bucket.sets.of(callerClass)),
      inShadow: shadowRolesIn(bucket, callerClass),
      isPriced: priced.has(bucket),
    })),
  );
  const withoutBucket = classes.map(callerClass => ({
    bucket: 'none',
    callerClass,
    ...windowLabels(limits.global.of(callerClass)),
    inShadow: rolesIn(limits.global.of(callerClass).shadow),
    isPriced: false,
  }));
  return [...ofBuckets.flat(), ...withoutBucket];
}

function classesOf(identity: LabelSources['identity']): readonly model.ClassName[] {
  if (identity === null) return ['address'];
  return [...(hasBots(identity) ? ['bot'] : []), 'user', ...classNames(identity), 'address'];
}

/** Returns how limits decide, by the periods of those that have several windows. */
function windowLabels(limits: LimitsByRole): Pick<BucketLabels, 'outcomes' | 'periods'> {
  const refusing = limitsIn(limits).map(limit => [limit.role, periodAmongSeveral(limits, limit)] as const);
  const periods = new Set(refusing.map(([, period]) => period));
  return { outcomes: [['admitted', ''], ...refusing], periods: periods.size === 0 ? [''] : [...periods] };
}

/** Returns the limits that can refuse. Exempt routes have no global one. */
function rolesIn(limits: LimitsByRole | null): readonly string[] {
  return limits === null ? [] : LIMIT_ROLES.filter(role => limits[role] !== null);
}

function shadowRolesIn(
  { sets, rollout }: model.BucketModel,
  callerClass: model.ClassName,
): readonly string[] {
  const others = rollout === null ? [] : rolesIn(rollout.others.sets.of(callerClass).shadow);
  return [...new Set([...rolesIn(sets.of(callerClass).shadow), ...others])];
}
