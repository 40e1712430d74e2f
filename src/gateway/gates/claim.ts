import { type BucketModel, type CallerClass, drawsOnBuckets } from '../../config/index.ts';
import { mainValue } from '../../http/index.ts';
import { type LimitSet, NO_LIMITS } from '../../limits/index.ts';
import type { Exchange } from '../exchange/index.ts';

/** The limits that a request draws on, and its caller. */
export interface Claim {
  readonly set: LimitSet;
  readonly bucket: BucketModel | null;
  readonly callerClass: CallerClass;
  readonly caller: string;
  /** Value of the bucket's main parameter; empty if it has none. */
  readonly main: string;
}

/** Null if the value of the main parameter is ambiguous. */
export function claimOf(exchange: Exchange): Claim | null {
  const { destination, dialect, token, snapshot, downstream } = exchange;
  const callerClass = token === null ? 'address' : token.caller.kind;
  const caller = exchange.callerKey;
  const { limits } = snapshot;
  const { route } = destination;
  // A preflight carries no token, so its route's policies do not apply to it.
  if (destination.isPreflight || route === null)
    return { set: limits.global.address, bucket: null, callerClass, caller, main: '' };
  const exempt = route.kind === 'forward' && route.globalLimitExempt;
  const global = exempt ? NO_LIMITS : limits.global[callerClass];
  const match = drawsOnBuckets(destination.authentication, callerClass)
    ? limits.routes.find(dialect.routedMethod(downstream), destination.path)
    : null;
  if (match === null) return { set: global, bucket: null, callerClass, caller, main: '' };
  const { bucket, mainAt } = match.value;
  const main = mainAt === null ? '' : mainValue(match.params[mainAt] ?? '');
  if (main === null) return null;
  const sets = exempt ? bucket.exemptSets : bucket.sets;
  return { set: sets[callerClass], bucket, callerClass, caller, main };
}
