import { isPrincipal } from '../auth/index.ts';
import type { Observation, TopCaller } from '../observe/index.ts';
import type { Limiting } from '../runtime/index.ts';
import type { CallerName, CallerStatus, CallersStatus, RefusedCallerStatus } from './status.ts';

/** Callers listed of each kind. */
const MAX_LISTED = 25;
const MAX_RESTRICTIONS = 100;

/** Where callers are known. */
export interface CallerSources {
  readonly limiting: Pick<Limiting, 'restrictions' | 'shadowRestrictions'>;
  readonly observation: Pick<Observation, 'recent' | 'pseudonymOf'>;
}

/** Gathers who is refused, or will be soon: principals by the pseudonyms of the log, addresses as they are. */
export function gatherCallers({ limiting, observation }: CallerSources): CallersStatus {
  const nameOf = (isAddress: boolean, key: string): CallerName =>
    isAddress ? { address: key } : { caller: observation.pseudonymOf(key) };
  const viewOf = ({ caller, callerClass, bucket, count, maxCount, ...top }: TopCaller): CallerStatus => ({
    ...nameOf(callerClass === 'address', caller),
    class: callerClass,
    bucket,
    count,
    maxCount,
    sinceMs: top.sinceMs,
    lastAtMs: top.lastMs,
  });
  const refusedViewOf = (top: TopCaller): RefusedCallerStatus => {
    const { restricted, why } = top;
    return { ...viewOf(top), restricted, why };
  };
  const { refused, nearLimit } = observation.recent.callers;
  const restrictions = limiting.restrictions.listed
    .byName(MAX_RESTRICTIONS)
    .map(({ kind, key, reason, sinceEpochMs, untilEpochMs }) => ({
      ...nameOf(kind !== 'principal', key),
      kind,
      reason,
      sinceMs: sinceEpochMs,
      untilMs: untilEpochMs,
    }));
  return {
    refusedMost: refused.slice(0, MAX_LISTED).map(refusedViewOf),
    nearLimit: nearLimit.slice(0, MAX_LISTED).map(viewOf),
    restrictions,
    unlistedRestrictions: Math.max(0, limiting.restrictions.size - restrictions.length),
    shadowRestrictions: limiting.shadowRestrictions
      .list(MAX_RESTRICTIONS)
      .map(({ key, reason, untilEpochMs }) => ({
        ...nameOf(!isPrincipal(key), key),
        reason,
        untilMs: untilEpochMs,
      })),
  };
}
