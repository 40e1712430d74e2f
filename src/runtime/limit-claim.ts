import {
  type BucketModel,
  type CallerClass,
  drawsOnBuckets,
  type LimitsModel,
  limitsFor,
} from '../config/index.ts';
import type { Draws } from '../core/index.ts';
import { mainValue } from '../http/index.ts';
import { type LimitSet, NO_LIMITS } from '../limits/index.ts';

/** A request as the limits see it. */
export interface LimitedRequest {
  /** The method to look its route up by: `GRPC` for a gRPC call. */
  readonly method: string;
  /** Canonical. */
  readonly path: string;
  readonly callerClass: CallerClass;
  /** The key that it is counted under. */
  readonly caller: string;
  readonly draws: Draws;
}

/** The limits that a request draws on, and its caller. */
export interface Claim {
  readonly set: LimitSet;
  readonly bucket: BucketModel | null;
  readonly callerClass: CallerClass;
  readonly caller: string;
  /** Value of the bucket's main parameter; empty if it has none. */
  readonly main: string;
  readonly draws: Draws;
}

/** What the policies of a route let a request draw on. */
export function drawsOf(
  authentication: 'required' | 'optional' | 'none',
  callerClass: CallerClass,
  exempt: boolean,
): Draws {
  if (drawsOnBuckets(authentication, callerClass)) return exempt ? 'bucket' : 'all';
  return exempt ? 'none' : 'global';
}

/** What a request draws on that no route serves. */
export function globalClaim(limits: LimitsModel, callerClass: CallerClass, caller: string): Claim {
  return { set: limits.global[callerClass], bucket: null, callerClass, caller, main: '', draws: 'global' };
}

/** Null if the value of the main parameter is ambiguous. */
export function claimOn(limits: LimitsModel, request: LimitedRequest): Claim | null {
  const { callerClass, caller, draws } = request;
  const exempt = draws === 'bucket' || draws === 'none';
  const global = exempt ? NO_LIMITS : limits.global[callerClass];
  const match =
    draws === 'all' || draws === 'bucket' ? limits.routes.find(request.method, request.path) : null;
  if (match === null) return { set: global, bucket: null, callerClass, caller, main: '', draws };
  const { bucket, mainAt } = match.value;
  const main = mainAt === null ? '' : mainValue(match.params[mainAt] ?? '');
  if (main === null) return null;
  const { sets, exemptSets } = limitsFor(bucket, caller);
  return { set: (exempt ? exemptSets : sets)[callerClass], bucket, callerClass, caller, main, draws };
}
