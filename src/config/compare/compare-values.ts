import { formatDuration } from '../../core/index.ts';
import type { Quota } from '../../limits/index.ts';
import { type Difference, differ } from '../difference.ts';

/** Formats a quota: `5 in 5s`, or `no limit`. */
export function describeQuota(quota: Quota | null): string {
  return quota === null ? 'no limit' : `${quota.units} in ${formatDuration(quota.periodMs)}`;
}

/** Compares what callers may send at once and what they may send over time. Returns `null` if both are equal. */
export function compareQuotas(now: Quota | null, before: Quota | null): Difference | null {
  const text = `${describeQuota(now)}, before ${describeQuota(before)}`;
  if (now === null) return before === null ? null : differ('looser', text, Number.POSITIVE_INFINITY);
  if (before === null) return differ('stricter', text, 0);
  const atOnce = now.units / before.units;
  // Multiplied crosswise, so that equal rates of different periods compare as equal: both are whole numbers.
  const overTime = (now.units * before.periodMs) / (before.units * now.periodMs);
  const left = Math.min(atOnce, overTime);
  if (atOnce === 1 && overTime === 1) return null;
  if (atOnce <= 1 && overTime <= 1) return differ('stricter', text, left);
  if (atOnce >= 1 && overTime >= 1) return differ('looser', text, left);
  const how = atOnce < 1 ? 'fewer at once, more over time' : 'more at once, fewer over time';
  return differ('mixed', `${text} (${how})`, left);
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
    ...(removed.length === 0 ? [] : [differ('stricter', `${verbs.removed} ${someOf(removed)}`, 0)]),
    ...(added.length === 0 ? [] : [differ('looser', `${verbs.added} ${someOf(added)}`, 2)]),
  ];
}

/** The most entries that a line of a log names. */
const MAX_NAMED = 8;

/** Names the first entries, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  const shown = names.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}
