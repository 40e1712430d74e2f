import {
  type BucketModel,
  type CallerClass,
  consumesBuckets,
  type LimitsModel,
  limitsFor,
} from '../config/index.ts';
import type { Draws } from '../core/index.ts';
import { mainValue } from '../http/index.ts';
import {
  type Decision,
  type IgnoredRefusals,
  type LimitSet,
  NO_LIMITS,
  OTHER_PARTS,
} from '../limits/index.ts';

/** Whose limit caused a 429. `restriction`: the sender is restricted. */
export type LimitedBy = 'user' | 'shared' | 'global' | 'restriction';

/** Final status 401, 403 or 429, unless a restriction answered or others share the blame (docs/contract.md, 5.1). */
export function isInvalid(status: number, limitedBy: LimitedBy | null, isPreflight: boolean): boolean {
  if (isPreflight) return false;
  if (status === 401 || status === 403) return true;
  return status === 429 && limitedBy !== 'shared' && limitedBy !== 'restriction';
}

/** Whose request limits refused. */
export interface RefusedSender {
  /** Key of the address. */
  readonly address: string;
  /** Null: the caller counts as its address. */
  readonly principal: string | null;
  readonly isPreflight: boolean;
}

/** Notes refusals that the caller may ignore: not those that others caused, nor those of a browser's preflight. */
export function noteRefusal(
  ignoredRefusals: IgnoredRefusals,
  { set, main }: Claim,
  { role, sharedKey, otherParts, retryAfterMs }: Decision,
  { address, principal, isPreflight }: RefusedSender,
): void {
  // The limit of a resource is noted where the caller's own counter for further values refused.
  const refused = role === null ? null : set[role];
  if (sharedKey || refused === null || isPreflight) return;
  const part = otherParts ? OTHER_PARTS : main;
  ignoredRefusals.note({ address, principal, limit: refused, main: part, waitMs: retryAfterMs });
}

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
export function limitsOf(
  authentication: 'required' | 'optional' | 'none',
  callerClass: CallerClass,
  exempt: boolean,
): Draws {
  if (consumesBuckets(authentication, callerClass)) return exempt ? 'bucket' : 'all';
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
