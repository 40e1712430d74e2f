import { type Limit, type LimitSet, limitsIn } from '../../limits/index.ts';
import type { LimitsModel } from './limits-model.ts';

/** Returns every limit that requests may consume, including those in shadow. Some are repeated. */
export function everyLimit({
  global,
  preflights,
  buckets,
}: Pick<LimitsModel, 'global' | 'preflights' | 'buckets'>): Limit[] {
  const every = limitsOfSets([...global.all, preflights]);
  for (const { limits } of buckets) for (const limit of limits) every.push(limit);
  return every;
}

/** Returns the limits of these sets, including those in shadow, each once. */
export function limitsOfSets(sets: readonly LimitSet[]): Limit[] {
  const all = sets.flatMap(set => [...limitsIn(set), ...(set.shadow === null ? [] : limitsIn(set.shadow))]);
  return [...new Set(all)];
}
