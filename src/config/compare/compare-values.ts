import { formatDuration } from '../../core/index.ts';
import type { Quota } from '../../limits/index.ts';
import type { Effect } from './change.ts';

/** How one value differs from the one before; what it belongs to is said elsewhere. */
export interface Difference {
  readonly effect: Effect;
  /** The share of what was allowed that still is. */
  readonly left: number;
  readonly text: string;
}

/** Formats a quota: `5 in 5s`, or `no limit`. */
export function describeQuota(quota: Quota | null): string {
  return quota === null ? 'no limit' : `${quota.units} in ${formatDuration(quota.periodMs)}`;
}

/** Compares what callers may send at once and what they may send over time. Null: both are equal. */
export function compareQuotas(now: Quota | null, before: Quota | null): Difference | null {
  const text = `${describeQuota(now)}, before ${describeQuota(before)}`;
  if (now === null)
    return before === null ? null : { effect: 'looser', left: Number.POSITIVE_INFINITY, text };
  if (before === null) return { effect: 'stricter', left: 0, text };
  const atOnce = now.units / before.units;
  // Multiplied crosswise, so that equal rates of different periods compare as equal: both are whole numbers.
  const overTime = (now.units * before.periodMs) / (before.units * now.periodMs);
  const left = Math.min(atOnce, overTime);
  if (atOnce === 1 && overTime === 1) return null;
  if (atOnce <= 1 && overTime <= 1) return { effect: 'stricter', left, text };
  if (atOnce >= 1 && overTime >= 1) return { effect: 'looser', left, text };
  const how = atOnce < 1 ? 'fewer at once, more over time' : 'more at once, fewer over time';
  return { effect: 'mixed', left, text: `${text} (${how})` };
}

/**
 * Compares numbers of which a lower one allows less; for others, swap the arguments. Null: equal.
 *
 * @param text what to say about a difference
 */
export function compareSizes(now: number, before: number, text: string): Difference | null {
  if (now === before) return null;
  const left = before === 0 ? Number.POSITIVE_INFINITY : now / before;
  return { effect: now < before ? 'stricter' : 'looser', left, text };
}

/**
 * Compares lists of which each entry allows something.
 *
 * @param verbs what happened to entries that are new, and to those that are gone
 */
export function compareLists(
  now: readonly string[],
  before: readonly string[],
  verbs: { readonly added: string; readonly removed: string },
): Difference[] {
  const [known, kept] = [new Set(before), new Set(now)];
  const added = now.filter(entry => !known.has(entry));
  const removed = before.filter(entry => !kept.has(entry));
  return [
    ...(removed.length === 0
      ? []
      : [{ effect: 'stricter' as const, left: 0, text: `${verbs.removed} ${someOf(removed)}` }]),
    ...(added.length === 0
      ? []
      : [{ effect: 'looser' as const, left: 2, text: `${verbs.added} ${someOf(added)}` }]),
  ];
}

/** As many as a line of a log may name. */
const MAX_NAMED = 8;

/** Names the first of them, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  const shown = names.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}
