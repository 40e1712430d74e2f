import { type Limit, type LimitSet, limitsIn } from '../../limits/index.ts';
import type { BucketLimits, LimitsModel } from './limits-model.ts';

/** Yields every limit that requests may consume, including those in shadow. Some are repeated. */
export function* everyLimit({
  global,
  preflights,
  buckets,
}: Pick<LimitsModel, 'global' | 'preflights' | 'buckets'>): Generator<Limit> {
  for (const set of [...global.all, preflights]) yield* limitsOfSet(set);
  for (const bucket of buckets) {
    yield* limitsOfBucket(bucket);
    if (bucket.rollout !== null) yield* limitsOfBucket(bucket.rollout.others);
  }
}

function* limitsOfBucket({ sets }: BucketLimits): Generator<Limit> {
  for (const set of sets.all) yield* limitsOfSet(set);
}

function* limitsOfSet(set: LimitSet): Generator<Limit> {
  yield* limitsIn(set);
  if (set.shadow !== null) yield* limitsIn(set.shadow);
}
