import { type BucketModel, consumesBuckets, type LimitsModel, limitsFor } from '../config/index.ts';
import type { ClaimedValues, ClassName, ConsumedLimits } from '../core/index.ts';
import { mainValue } from '../http/index.ts';
import type { Decision, IgnoredRefusals, LimitSet } from '../limits/index.ts';
import { NO_LIMITS, OTHER_PARTS } from '../limits/index.ts';

/** Whose limit caused a 429. `restriction`: the sender is restricted. */
export type LimitedBy = 'user' | 'shared' | 'global' | 'restriction';

/**
 * Whether a request counts as invalid: its status is 401, 403 or 429. A 429 by a restriction, or for which others share the blame,
 * does not count (docs/contract.md, 5.1).
 */
export function isInvalid(status: number, limitedBy: LimitedBy | null, isPreflight: boolean): boolean {
  if (isPreflight) return false;
  if (status === 401 || status === 403) return true;
  return status === 429 && limitedBy !== 'shared' && limitedBy !== 'restriction';
}

/** The sender of a request that a limit refused. */
export interface RefusedSender {
  /** The key of the address. */
  readonly address: string;
  /** The caller; `null` if only the address is known. */
  readonly principal: string | null;
  readonly isPreflight: boolean;
}

/**
 * Notes a refusal, to find out whether the caller ignores it. Leaves out refusals that others caused, and preflights, which
 * browsers send by themselves.
 */
export function noteRefusal(
  ignoredRefusals: IgnoredRefusals,
  { set, main, cost }: LimitRequest,
  { role, atOnce, sharedKey, otherParts, retryAfterMs }: Decision,
  { address, principal, isPreflight }: RefusedSender,
): void {
  // The limit of a resource is noted where the caller's own counter for further values refused.
  const ofQuota = role === null ? null : set[role];
  const refused = atOnce ? set.concurrent : ofQuota;
  if (sharedKey || refused === null || isPreflight) return;
  const part = otherParts ? OTHER_PARTS : main;
  ignoredRefusals.note({
    address,
    principal,
    limit: refused,
    main: part,
    cost: atOnce ? 1 : cost,
    waitMs: retryAfterMs,
  });
}

/** A request as the limits see it. */
export interface LimitedRequest {
  /** The method to look its route up by: `GRPC` for a gRPC call. */
  readonly method: string;
  /** The host in its canonical form; '' if it is not known. */
  readonly host: string;
  /** The path in its canonical form. */
  readonly path: string;
  readonly callerClass: ClassName;
  /** The key that the caller is counted under. */
  readonly caller: string;
  /** What its token says about limits; `null` if it says nothing. */
  readonly claimed: ClaimedValues | null;
  readonly consumes: ConsumedLimits;
}

/** The limits of which a request consumes a unit each, and its caller. */
export interface LimitRequest {
  readonly set: LimitSet;
  readonly bucket: BucketModel | null;
  readonly callerClass: ClassName;
  readonly caller: string;
  /** The value of the bucket's main parameter; empty if it has none. */
  readonly main: string;
  /** The group of the caller in the bucket; empty if it has none. */
  readonly group: string;
  /** The units that it consumes of each limit but the global one. */
  readonly cost: number;
  readonly consumes: ConsumedLimits;
}

/** Which limits a request consumes, by the policies of its route. */
export function limitsOf(
  authentication: 'required' | 'optional' | 'none',
  callerClass: ClassName,
  exempt: boolean,
): ConsumedLimits {
  if (consumesBuckets(authentication, callerClass)) return exempt ? 'bucket' : 'all';
  return exempt ? 'none' : 'global';
}

/** The limits of a request that no route serves: the global limit alone. */
export function globalLimitRequest(
  limits: LimitsModel,
  callerClass: ClassName,
  caller: string,
): LimitRequest {
  return withoutBucket(limits.global.of(callerClass), callerClass, caller, 'global');
}

function withoutBucket(
  set: LimitSet,
  callerClass: ClassName,
  caller: string,
  consumes: ConsumedLimits,
): LimitRequest {
  return { set, bucket: null, callerClass, caller, main: '', group: '', cost: 1, consumes };
}

/** The limits that a request consumes; `null` if the value of the main parameter is ambiguous. */
export function limitRequestFor(limits: LimitsModel, request: LimitedRequest): LimitRequest | null {
  const { callerClass, caller, claimed, consumes } = request;
  const exempt = consumes === 'bucket' || consumes === 'none';
  const global = exempt ? NO_LIMITS : limits.global.of(callerClass);
  const match =
    consumes === 'all' || consumes === 'bucket'
      ? limits.routes.find(request.method, request.host, request.path)
      : null;
  if (match === null) return withoutBucket(global, callerClass, caller, consumes);
  const { bucket, mainAt, cost } = match.value;
  const main = mainAt === null ? '' : mainValue(match.params[mainAt] ?? '');
  if (main === null) return null;
  const { sets, exemptSets, claimed: byClaims } = limitsFor(bucket, caller);
  const set = (exempt ? exemptSets : sets).of(callerClass);
  if (byClaims === null) return { set, bucket, callerClass, caller, main, group: '', cost, consumes };
  const group = byClaims.groupOf(claimed);
  return { set: byClaims.of(set, claimed), bucket, callerClass, caller, main, group, cost, consumes };
}
