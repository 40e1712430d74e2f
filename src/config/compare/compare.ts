import { atOnce, type Steps } from '../../core/index.ts';
import { type Change, formatChange, worstFirst } from '../difference.ts';
import type { LimitsConfig } from '../limits/index.ts';
import type { Outline } from '../snapshot.ts';
import { compareCallers } from './compare-callers.ts';
import { compareLimits } from './compare-limits.ts';
import { compareRoutes } from './compare-routes.ts';
import { compareSettings } from './compare-settings.ts';

/** Returns what changes for callers from one limits.yaml to another, the strictest first. */
export function changesOfLimits(now: LimitsConfig, before: LimitsConfig): Change[] {
  return worstFirst(atOnce(compareLimits(now, before)));
}

/** What changes from one configuration to another, the strictest first. Routes and limits are compared by their effect. */
export function changesOf(now: Outline, before: Outline): Change[] {
  return atOnce(compareOutlines(now, before));
}

function* compareOutlines(now: Outline, before: Outline): Steps<Change[]> {
  return worstFirst([
    ...(yield* compareRoutes(now.routes, before.routes)),
    ...(yield* compareLimits(now.limits, before.limits)),
    ...compareCallers(now, before),
    ...compareSettings(now.settings, before.settings),
  ]);
}

const MAX_LINES = 50;

/** Formats changes, one per line: the strictest ones, and how many more there are. */
export function* changesInSteps(now: Outline, before: Outline): Steps<string[]> {
  const lines = (yield* compareOutlines(now, before)).map(formatChange);
  const more = lines.length - MAX_LINES;
  return more > 0 ? [...lines.slice(0, MAX_LINES), `and ${more} more, which "weir diff" lists`] : lines;
}
