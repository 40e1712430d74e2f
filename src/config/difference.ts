import { formatDuration } from '../core/index.ts';
import { formatPeriod, isClaimed, type Quota, quotaInWords, quotasOf, windowName } from '../limits/index.ts';

/**
 * The effect of a change on callers:
 * - `stricter`: requests that passed may be refused
 * - `mixed`: stricter for some requests, looser for others
 * - `looser`: requests that were refused may pass
 * - `neutral`: neither
 */
export type Effect = 'stricter' | 'mixed' | 'looser' | 'neutral';

/** How a value differs from the previous one. The subject is named elsewhere. */
export interface Difference {
  readonly effect: Effect;
  /**
   * The fraction of what was allowed before that still is: 0 for nothing, 1 for everything, above 1 if more is. Used to sort
   * changes with the same effect.
   */
  readonly left: number;
  readonly text: string;
}

export function differ(effect: Effect, text: string, left = 1): Difference {
  return { effect, left, text };
}

/**
 * Compares numbers of which a lower one allows less; for others, swap the arguments. Returns `null` if they are equal.
 *
 * @param text describes the difference
 */
export function compareSizes(now: number, before: number, text: string): Difference | null {
  if (now === before) return null;
  const left = before === 0 ? Number.POSITIVE_INFINITY : now / before;
  return differ(now < before ? 'stricter' : 'looser', text, left);
}

/** Compares maxima as `compareSizes` does; `null`: no maximum. `format` shows each: `max_body any, before 1KiB`. */
export function compareMaxima(
  key: string,
  now: number | null,
  before: number | null,
  format: (value: number | null) => string,
): Difference | null {
  const upTo = (max: number | null) => max ?? Number.POSITIVE_INFINITY;
  return compareSizes(upTo(now), upTo(before), `${key} ${format(now)}, before ${format(before)}`);
}

/** Compares two times of which the shorter one is stricter; `null` is unlimited. */
export function compareTimes(key: string, now: number | null, before: number | null): Difference | null {
  return compareMaxima(key, now, before, ms => (ms === null ? 'off' : formatDuration(ms)));
}

/**
 * Compares two ways to treat a request, of which one is stricter.
 *
 * @param now whether the stricter way applies now
 * @param what the stricter way, in words
 */
export function compareStrictness(now: boolean, before: boolean, what: string): Difference | null {
  if (now === before) return null;
  return now ? differ('stricter', what, 0) : differ('looser', `no longer: ${what}`);
}

/** Compares values of which none allows more than another. */
export function compareNeutral(
  key: string,
  now: string | boolean,
  before: string | boolean,
): Difference | null {
  return now === before ? null : differ('neutral', `${key} ${now}, before ${before}`);
}

/** One difference between two configurations, for people to read. */
export interface Change {
  readonly effect: Effect;
  /** What changes, as the operator names it: `bucket messages.write`, `POST /v1/things`, `caps.requests`. */
  readonly subject: string;
  /** The value from now on, and before. Contains no secret and no value of a variable. */
  readonly text: string;
}

/** A change, with the weight that sorts it among those with the same effect. */
export type WeighedChange = Change & Pick<Difference, 'left'>;

const ORDER: readonly Effect[] = ['stricter', 'mixed', 'looser', 'neutral'];

export function worstFirst(changes: readonly WeighedChange[]): Change[] {
  return changes
    .toSorted((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect) || a.left - b.left)
    .map(({ effect, subject, text }) => ({ effect, subject, text }));
}

function togetherOf(effects: readonly Effect[]): Effect {
  const tighter = effects.some(effect => effect === 'stricter' || effect === 'mixed');
  const wider = effects.some(effect => effect === 'looser' || effect === 'mixed');
  if (tighter) return wider ? 'mixed' : 'stricter';
  return wider ? 'looser' : 'neutral';
}

/** Merges several differences of the same thing that have the same cause. */
export function joined(differences: readonly Difference[]): Difference {
  return {
    effect: togetherOf(differences.map(({ effect }) => effect)),
    left: Math.min(1, ...differences.map(({ left }) => left)),
    text: differences.map(({ text }) => text).join('; '),
  };
}

/** Whether any request that used to pass may be refused. */
export function isStricter(changes: readonly Change[]): boolean {
  return changes.some(({ effect }) => effect === 'stricter' || effect === 'mixed');
}

/** Formats a change as one line: `stricter: bucket messages: 3 in 1s, before 10 in 5s`. */
export function formatChange({ effect, subject, text }: Change): string {
  return `${effect}: ${subject}: ${text}`;
}

/** Formats a quota: `5 in 5s`, or `no limit`. */
export function describeQuota(quota: Quota | null): string {
  if (quota === null) return 'no limit';
  const text = quotaInWords(quota);
  if (!isClaimed(quota)) return text;
  return `the value of the claim ${quota.claim}, at most ${quota.maxUnits}, or else ${text}`;
}

/** Compares what callers may send at once and what they may send over time. Returns `null` if both are equal. */
export function compareQuotas(now: Quota | null, before: Quota | null): Difference | null {
  const text = `${describeQuota(now)}, before ${describeQuota(before)}`;
  if (now === null) return before === null ? null : differ('looser', text, Number.POSITIVE_INFINITY);
  if (before === null) return differ('stricter', text, 0);
  if (isClaimed(now) || isClaimed(before)) return compareClaimed(now, before, text);
  if (now.more !== undefined || before.more !== undefined) return compareWindows(now, before, text);
  // The number of requests that a cost amounts to is known only from requests.
  if (now.unit !== before.unit) return differ('mixed', text);
  const atOnce = now.units / before.units;
  // Multiply crosswise, so that equal rates with different periods compare as equal: all factors are whole numbers.
  const overTime = (now.units * before.periodMs) / (before.units * now.periodMs);
  const left = Math.min(atOnce, overTime);
  if (atOnce === 1 && overTime === 1) return now.calendar === before.calendar ? null : differ('mixed', text);
  if (atOnce <= 1 && overTime <= 1) return differ('stricter', text, left);
  if (atOnce >= 1 && overTime >= 1) return differ('looser', text, left);
  const how = atOnce < 1 ? 'fewer at once, more over time' : 'more at once, fewer over time';
  return differ('mixed', `${text} (${how})`, left);
}

/** Compares lists of quotas, by their periods and units. */
function compareWindows(now: Quota, before: Quota, text: string): Difference | null {
  const byName = (list: Quota): ReadonlyMap<string, Quota> =>
    new Map(
      quotasOf(list).map(each => {
        const name = windowName({ period: formatPeriod(each), unit: each.unit });
        return [name, { ...each, more: undefined }];
      }),
    );
  const [windows, windowsBefore] = [byName(now), byName(before)];
  const parts = [...new Set([...windows.keys(), ...windowsBefore.keys()])]
    .map(name => compareQuotas(windows.get(name) ?? null, windowsBefore.get(name) ?? null))
    .filter(part => part !== null);
  return parts.length === 0 ? null : { ...joined(parts), text };
}

/** Compares quotas, one of which a claim sets: by the maximum for a caller, and by the number without the claim. */
function compareClaimed(now: Quota, before: Quota, text: string): Difference | null {
  const parts = [
    compareQuotas(highestOf(now), highestOf(before)),
    compareQuotas(withoutClaim(now), withoutClaim(before)),
  ].filter(part => part !== null);
  if (isClaimed(now) && isClaimed(before)) {
    if (now.claim !== before.claim) return differ('mixed', text);
    return parts.length === 0 ? null : { ...joined(parts), text };
  }
  // A claim may also set less than the other quota.
  const effect = isClaimed(now) ? 'stricter' : 'looser';
  return differ(parts.every(part => part.effect === effect) ? effect : 'mixed', text);
}

function highestOf(quota: Quota): Quota {
  return { ...withoutClaim(quota), units: isClaimed(quota) ? quota.maxUnits : quota.units };
}

function withoutClaim({ units, periodMs, calendar, more }: Quota): Quota {
  return { units, periodMs, calendar, more };
}

/**
 * Compares lists of which each entry allows something.
 *
 * @param verbs for entries that are new, and for those that are removed
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

const MAX_NAMED = 8;

/** Names the first entries, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  const shown = names.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}
