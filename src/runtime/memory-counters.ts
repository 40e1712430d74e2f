import { isPrincipal } from '../auth/index.ts';
import type { BucketLimits, LimitsModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { networkOfKey } from '../http/index.ts';
import { type Limit, type LimitSet, MemoryStore } from '../limits/index.ts';

/** The counters of this process, for callers as a gateway names them. Call `followLimits` with each configuration. */
export function memoryCounters(clock: Clock, maxKeys: number): MemoryStore {
  const networkOf = (caller: string) => (isPrincipal(caller) ? null : networkOfKey(caller));
  return new MemoryStore({ clock, maxKeys, networkOf });
}

/** Divides the room for counters among the limits of this configuration. Existing counts stay. */
export function followLimits(counters: MemoryStore, model: LimitsModel): void {
  counters.keysPerCaller = model.keysPerCaller;
  counters.share(limitsIn(model));
}

const ROLES = ['global', 'caller', 'resource'] as const;

/** Yields every limit that requests may consume, limits in shadow included. Some come more than once. */
function* limitsIn({ global, buckets }: LimitsModel): Generator<Limit> {
  for (const set of Object.values(global)) yield* limitsOfSet(set);
  for (const bucket of buckets) {
    yield* limitsOfBucket(bucket);
    if (bucket.rollout !== null) yield* limitsOfBucket(bucket.rollout.others);
  }
}

function* limitsOfBucket({ sets }: BucketLimits): Generator<Limit> {
  for (const set of Object.values(sets)) yield* limitsOfSet(set);
}

function* limitsOfSet(set: LimitSet): Generator<Limit> {
  for (const role of ROLES)
    for (const limit of [set[role], set.shadow?.[role] ?? null]) if (limit !== null) yield limit;
}
