import type * as core from '../../core/index.ts';
import type { CallerShare, Decision, Limit, LimitSet } from '../../limits/index.ts';
import { groupCounterKey, isSharedRole, NO_LIMITS, OTHER_PARTS, unitsTaken } from '../../limits/index.ts';
import { mainValue } from '../../wire/http/index.ts';
import type { AnswerModel, PolicyModels, UpstreamModel } from '../policies/index.ts';
import { classNames, hasBots, type IdentityModel } from './identity-model.ts';
import type { BucketLimits, BucketModel, LimitsModel, PriceModel } from './limits-model.ts';

/** A match rule with its policies: from gateway.yaml, or one of the gateway's own. */
export type RouteModel = RouteOfFile | OwnRoute;

/** A match rule of gateway.yaml. */
export type RouteOfFile = ForwardRoute | AnswerRoute;

/** One of the gateway's own match rules. It matches every method, and most methods get a 405. */
export type OwnRoute = SignInRoute | NoticeRoute | MetadataRoute;

/** What the match rules of gateway.yaml have in common. */
interface RouteWithPolicies extends PolicyModels {
  /** Its name in metrics and logs, as the operator wrote it: `GET,HEAD /v1/things/{id}`, `/v1/**` or `GRPC package.Service/*`. */
  readonly id: string;
  /** The methods that it names; `null` if it names none, as a route for gRPC calls. */
  readonly methods: readonly string[] | null;
  readonly parameters: readonly string[];
}

/** A match rule whose requests go to an upstream. */
export interface ForwardRoute extends RouteWithPolicies {
  readonly kind: 'forward';
  readonly upstream: UpstreamModel;
  /** The pool of its upstream that its exchanges take their permits from. */
  readonly pool: core.PoolModel;
  /**
   * The routes to use if several upstreams share the callers: the other members of this route are then those of the largest share.
   * Else `null`.
   */
  readonly shares: readonly UpstreamShare[] | null;
}

/** The callers of a route that go to one of its upstreams. */
export interface UpstreamShare {
  readonly percent: number;
  /** These callers and those of all previous shares. */
  readonly upTo: CallerShare;
  /** The same route with this upstream, its pools and timeouts. */
  readonly route: ForwardRoute;
}

/** A match rule whose requests always get the same answer from the gateway. */
export interface AnswerRoute extends RouteWithPolicies {
  readonly kind: 'answer';
  readonly upstream: null;
  readonly answer: AnswerModel;
}

/** Whether a route is from gateway.yaml, with policies. */
export function isOfFile(route: RouteModel | null): route is RouteOfFile {
  return route !== null && (route.kind === 'forward' || route.kind === 'answer');
}

export function routeOfCaller(route: ForwardRoute, caller: string): ForwardRoute {
  const { shares } = route;
  if (shares === null) return route;
  return shares.find(({ upTo }) => upTo.includes(caller))?.route ?? route;
}

/** The endpoints for sign-in. The first two always exist, the others if the configuration names them. */
export type SignInEndpoint = 'authorize-url' | 'auth' | 'refresh' | 'sign-out';

/** What the gateway's own match rules have in common. */
interface OwnMatchRule {
  /** Its path: the name in metrics and logs. */
  readonly id: string;
  /** The methods that do not get a 405. */
  readonly methods: readonly string[];
  readonly semicolons: 'refuse';
  readonly parameters: readonly string[];
}

/** One of the sign-in endpoints (docs/contract.md, 1). */
export interface SignInRoute extends OwnMatchRule {
  readonly kind: 'sign-in';
  readonly endpoint: SignInEndpoint;
  /** Whether it needs a token: only signing out does. */
  readonly authentication: 'none' | 'required';
}

/** A public path to which a provider sends notices. */
export interface NoticeRoute extends OwnMatchRule {
  readonly kind: 'notice';
  readonly notice: core.NoticeKind;
  readonly authentication: 'none';
}

/** A path where clients learn which issuers' tokens are accepted (RFC 9728). */
export interface MetadataRoute extends OwnMatchRule {
  readonly kind: 'metadata';
  readonly authentication: 'none';
  /** The document, as JSON in ASCII. */
  readonly document: string;
}

// What the policies of a route mean for one request. Used by the gates, `weir check` and `weir explain`.

/** Whether a semicolon in a path is refused: always, unless the route allows it. */
export function refusesSemicolons(route: RouteModel | null): boolean {
  return route?.semicolons !== 'pass';
}

/** The classes that callers of a route may have, after authentication. */
export function callerClassesOf(
  authentication: RouteModel['authentication'],
  hasBots: boolean,
): readonly core.CallerClass[] {
  const known: readonly core.CallerClass[] = hasBots ? ['user', 'bot'] : ['user'];
  switch (authentication) {
    case 'required':
      return known;
    case 'optional':
      return [...known, 'address'];
    case 'none':
      return ['address'];
  }
}

/** The classes that callers of a route may have, including those of gateway.yaml. */
export function classesOn(
  authentication: RouteModel['authentication'],
  identity: IdentityModel | null,
): readonly core.ClassName[] {
  const builtIn = callerClassesOf(authentication, identity !== null && hasBots(identity));
  const named = authentication === 'none' ? [] : classNames(identity);
  return [
    ...builtIn.filter(each => each !== 'address'),
    ...named,
    ...builtIn.filter(each => each === 'address'),
  ];
}

/** Whether a class draws on buckets: without a required token, requests draw on their address's global limit alone. */
export function consumesBuckets(
  authentication: RouteModel['authentication'],
  callerClass: core.ClassName,
): boolean {
  return authentication !== 'required' || callerClass !== 'address';
}

/** The bucket's limits for this caller: during a roll-out they differ from caller to caller. */
export function limitsFor(bucket: BucketModel, caller: string): BucketLimits {
  const { rollout } = bucket;
  return rollout === null || rollout.share.includes(caller) ? bucket : rollout.others;
}

/** The parts of a request that limits depend on. */
export interface CountedRequest {
  /** The method used in the route lookup: `GRPC` for a gRPC call. */
  readonly method: string;
  /** The host in its canonical form; '' if unknown. */
  readonly host: string;
  /** The path in its canonical form. */
  readonly path: string;
  readonly callerClass: core.ClassName;
  /** The key under which the caller is counted. */
  readonly caller: string;
  /** The limit claims of its token; `null` if there are none. */
  readonly claimed: core.ClaimedValues | null;
  readonly consumes: core.ConsumedLimits;
}

/** What a request consumes: its limits, and the names under which they count it, which are caller, group and main value. */
export interface Consumption {
  readonly set: LimitSet;
  readonly bucket: BucketModel | null;
  readonly callerClass: core.ClassName;
  readonly caller: string;
  /** The value of the bucket's main parameter; empty if it has none. */
  readonly main: string;
  /** The caller's group in the bucket; empty if it has none. */
  readonly group: string;
  /** The cost of the request (`unitsTaken`). */
  readonly cost: number;
  /** How the response names the cost of its request; `null` if the cost is known before. */
  readonly price: PriceModel | null;
  readonly consumes: core.ConsumedLimits;
}

/** Which limits a request consumes, by the policies of its route. */
export function limitsOf(
  authentication: 'required' | 'optional' | 'none',
  callerClass: core.ClassName,
  exempt: boolean,
): core.ConsumedLimits {
  if (consumesBuckets(authentication, callerClass)) return exempt ? 'bucket' : 'all';
  return exempt ? 'none' : 'global';
}

/** The limits of a request that no route serves: only the global limit. */
export function globalConsumption(
  limits: LimitsModel,
  callerClass: core.ClassName,
  caller: string,
): Consumption {
  return withoutBucket(limits.global.of(callerClass), callerClass, caller, 'global');
}

function withoutBucket(
  set: LimitSet,
  callerClass: core.ClassName,
  caller: string,
  consumes: core.ConsumedLimits,
): Consumption {
  return { set, bucket: null, callerClass, caller, main: '', group: '', cost: 1, price: null, consumes };
}

/** The limits that a request consumes; `null` if the value of the main parameter is ambiguous. */
export function consumptionOf(limits: LimitsModel, request: CountedRequest): Consumption | null {
  const { callerClass, caller, claimed, consumes } = request;
  if (consumes === 'preflights') return withoutBucket(limits.preflights, callerClass, caller, consumes);
  const exempt = consumes === 'bucket' || consumes === 'none';
  const global = exempt ? NO_LIMITS : limits.global.of(callerClass);
  const match =
    consumes === 'all' || consumes === 'bucket'
      ? limits.routes.find(request.method, request.host, request.path)
      : null;
  if (match === null) return withoutBucket(global, callerClass, caller, consumes);
  const { bucket, mainAt, cost, price } = match.value;
  const main = mainAt === null ? '' : mainValue(match.params[mainAt] ?? '');
  if (main === null) return null;
  const { sets, exemptSets, claimed: byClaims } = limitsFor(bucket, caller);
  const set = (exempt ? exemptSets : sets).of(callerClass);
  const common = { bucket, callerClass, caller, main, cost, price, consumes };
  if (byClaims === null) return { set, group: '', ...common };
  return { set: byClaims.of(set, claimed), group: byClaims.groupOf(claimed), ...common };
}

/** Whose limit caused a 429. `restriction`: the sender is restricted. */
export type LimitedBy = 'user' | 'shared' | 'global' | 'restriction';

/**
 * Whether a request counts as invalid: its status is 401, 403 or 429. A 429 due to a restriction, or for which others share the
 * blame, does not count (docs/contract.md, 5.1).
 */
export function isInvalid(status: number, limitedBy: LimitedBy | null, isPreflight: boolean): boolean {
  if (isPreflight) return false;
  if (status === 401 || status === 403) return true;
  return status === 429 && limitedBy !== 'shared' && limitedBy !== 'restriction';
}

/** Units that a request consumed of one limit of its bucket and that can be returned. */
export interface ReturnableUnits {
  readonly limit: Limit;
  /** The counter they were taken from, in the form that `refund` takes. */
  readonly part: string;
  readonly window: number;
  readonly cost: number;
  readonly caller: string;
}

const NO_UNITS: readonly ReturnableUnits[] = [];

/** What a request consumed that can be returned, including units of limits in shadow. */
export function returnableUnitsOf(
  { main, group, cost, caller }: Consumption,
  { drawn, shadow }: Decision,
): readonly ReturnableUnits[] {
  if (drawn.length + shadow.drawn.length === 0) return NO_UNITS;
  return [...drawn, ...shadow.drawn].map(({ limit, window, standIn }) => {
    // A gateway's share of a quota may be less than the cost of a request, which then consumed the whole share.
    const units = { limit, window, cost: Math.min(limit.units, unitsTaken(limit, cost)) };
    if (standIn !== undefined) return { ...units, part: OTHER_PARTS, caller: standIn ?? caller };
    return { ...units, part: limit.role === 'group' ? groupCounterKey(group, main) : main, caller };
  });
}

/**
 * Which of these units a response returns: all if the bucket returns units for its status. Otherwise, if the service denied the
 * caller access, those of limits that callers share.
 *
 * @param isOfService whether the service answered
 */
export function unitsReturnedBy<Units extends Pick<ReturnableUnits, 'limit'>>(
  status: number,
  isOfService: boolean,
  units: readonly Units[],
  bucket: Pick<BucketModel, 'giveBack'> | null,
): readonly Units[] {
  if (units.length === 0 || bucket === null) return [];
  if (bucket.giveBack?.has(status) === true) return units;
  const isDenied = isOfService && (status === 401 || status === 403 || status === 404);
  return isDenied ? units.filter(({ limit }) => isSharedRole(limit.role)) : [];
}
