import {
  eachInSteps,
  hasSameItems,
  isSame,
  type Kept,
  type NoticeKind,
  type Protocol,
  reuse,
  reuseInSteps,
  type Steps,
} from '../../core/index.ts';
import { LIMIT_ROLES, type LimitsByRole, limitsIn, periodAmongSeveral } from '../../limits/index.ts';
import type { BucketLabels, Ending, LabelModel, RouteLabels } from '../../observe/index.ts';
import type { KeptLabels } from '../kept-parts.ts';
import type * as model from '../model/index.ts';
import { classNames, hasBots, noticeKindsIn, signInProvider } from '../model/index.ts';
import type { RouteEntry } from '../routing/index.ts';
import type { SettingModels } from '../settings/index.ts';

type Settings = Pick<
  SettingModels,
  'listen' | 'upstreams' | 'keptRoutes' | 'keptTable' | 'limits' | 'keptLimits' | 'identity' | 'metrics'
>;

/** @param before of the previous configuration; `null` if there was none */
export function* compileLabels(
  settings: Settings,
  ownRoutes: readonly RouteEntry<model.OwnRoute>[],
  before: KeptLabels | null,
): Steps<KeptLabels> {
  const { listen, upstreams, identity, metrics } = settings;
  const signsIn = signInProvider(identity) !== null;
  const own = ownRoutes.map(({ value }) => value).filter(({ kind }) => kind !== 'sign-in' || signsIn);
  const ofRoutes = yield* labelsOfRoutes(settings, own, before?.ofRoutes);
  const { routes, webSocketUpstreams, introspects } = ofRoutes.part;
  const ofBuckets = yield* labelsOfBuckets(settings, before?.ofBuckets);
  const buckets = [...ofBuckets.part.values()].flat().concat(withoutBucket(settings, ofBuckets));
  const labels: LabelModel = {
    routes,
    upstreams: upstreams.map(({ name }) => name),
    webSocketUpstreams,
    buckets: before === null ? buckets : yield* sameWhereEqual(buckets, before.model.part.buckets),
    tlsListeners: (['http', 'grpc'] as const).filter(name => (listen[name]?.tls ?? null) !== null),
    providers:
      identity === null || identity.providers.length === 0
        ? null
        : identity.providers.map(({ label }) => label),
    introspects:
      introspects || identity?.providers.some(({ opaqueTokens }) => opaqueTokens !== null) === true,
    refreshes: own.some(each => each.kind === 'sign-in' && each.endpoint === 'refresh'),
    signsOut: own.some(each => each.kind === 'sign-in' && each.endpoint === 'sign-out'),
    dpop: identity !== null && identity.dpop !== null,
    notices: identity === null ? [] : noticeKindsIn(...identity.providers.map(({ notices }) => notices)),
    routeDurations: metrics.routeDurations,
  };
  return { model: reuse(before?.model, labels, same => same, isUnchanged), ofRoutes, ofBuckets };
}

/** Of lists that may be long, only the same ones count as equal. */
function isUnchanged(one: LabelModel, other: LabelModel): boolean {
  const { routes, buckets, ...others } = other;
  return one.routes === routes && one.buckets === buckets && isSame(one, { ...others, routes, buckets });
}

/** The labels of routes are kept where the table is. */
function labelsOfRoutes(
  { keptRoutes: { entries }, keptTable, listen: { http, grpc } }: Settings,
  own: readonly model.OwnRoute[],
  before: KeptLabels['ofRoutes'] | undefined,
): Steps<KeptLabels['ofRoutes']> {
  const ofPaths: readonly Protocol[] = http.tls !== null || http.h2c ? ['http1', 'h2'] : ['http1'];
  return reuseInSteps<unknown, KeptLabels['ofRoutes']['part']>(
    before,
    [keptTable.part, ofPaths.length, grpc === null, ...own],
    function* () {
      // A route with several hosts has an entry for each.
      const routes = [...new Set(entries.map(({ value }) => value))].flatMap(waysOf);
      const takesCalls = grpc !== null || routes.some(isGrpc);
      const labels: RouteLabels[] = [
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
      const sockets = routes.flatMap(({ websocket, upstream }) =>
        websocket === null || upstream === null ? [] : [upstream.name],
      );
      const webSocketUpstreams = [...new Set(sockets)];
      const introspects = routes.some(({ introspectionMs }) => introspectionMs !== null);
      return { routes: labels, webSocketUpstreams, introspects };
    },
  );
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

/** The labels of a bucket are kept where it is. */
function* labelsOfBuckets(
  { keptLimits, identity }: Settings,
  before: KeptLabels['ofBuckets'] | undefined,
): Steps<Kept<readonly model.ClassName[], ReadonlyMap<model.BucketModel, readonly BucketLabels[]>>> {
  const classes = classesOf(identity);
  const known = before !== undefined && isSame(before.key, classes) ? before.part : null;
  const { key: lines } = keptLimits.table;
  const buckets = new Set(lines.map(({ value }) => value.bucket));
  const priced = new Set(lines.flatMap(({ value }) => (value.price === null ? [] : [value.bucket])));
  const part = new Map<model.BucketModel, readonly BucketLabels[]>();
  for (const bucket of buckets) {
    const make = (callerClass: model.ClassName) => ({
      bucket: bucket.name,
      callerClass,
      ...windowLabels(bucket.sets.of(callerClass)),
      inShadow: shadowRolesIn(bucket, callerClass),
      isPriced: priced.has(bucket),
    });
    part.set(bucket, known?.get(bucket) ?? classes.map(make));
    yield;
  }
  return { key: classes, part };
}

/** The same objects as before where they are equal, and the same list where all are. */
function* sameWhereEqual(
  now: readonly BucketLabels[],
  before: readonly BucketLabels[],
): Steps<readonly BucketLabels[]> {
  const kept = yield* eachInSteps(now, (label, index) => {
    const old = before[index];
    return old !== undefined && isSame(old, label) ? old : label;
  });
  return hasSameItems(kept, before) ? before : kept;
}

function withoutBucket(
  { limits }: Settings,
  { key: classes }: Kept<readonly model.ClassName[], unknown>,
): BucketLabels[] {
  return classes.map(callerClass => ({
    bucket: 'none',
    callerClass,
    ...windowLabels(limits.global.of(callerClass)),
    inShadow: rolesIn(limits.global.of(callerClass).shadow),
    isPriced: false,
  }));
}

function classesOf(identity: Settings['identity']): readonly model.ClassName[] {
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
