import { formatDuration, type Steps } from '../../core/index.ts';
import type { Difference, WeighedChange } from '../difference.ts';
import { compareLists, compareQuotas, compareSizes, differ } from '../difference.ts';
import type { LimitsConfig, OffenceConfig } from '../limits/index.ts';
import * as buckets from './compare-buckets.ts';

export function* compareLimits(now: LimitsConfig, before: LimitsConfig): Steps<WeighedChange[]> {
  const about = (subject: string, differences: readonly (Difference | null)[]) =>
    differences.flatMap(difference => (difference === null ? [] : [{ subject, ...difference }]));
  return [
    ...about('global limit', compareGlobal(now, before)),
    ...(yield* buckets.compareBuckets(now, before)),
    ...(yield* buckets.compareLimitRoutes(now, before)),
    ...about('invalid_requests', compareOffences(now.invalid_requests, before.invalid_requests)),
    ...about('webhook_not_found', compareOffences(now.webhook_not_found, before.webhook_not_found)),
    ...about('ignored_refusals', compareOffences(now.ignored_refusals, before.ignored_refusals)),
    ...about('ignored_refusals', [compareAddresses(now, before)]),
    ...about('never_restrict', compareEntries(now.never_restrict, before.never_restrict, SPARED)),
    ...about('blocked', compareEntries(entriesOf(before.blocked), entriesOf(now.blocked), BLOCKED)),
    ...about('failed_verifications', [compareQuotas(now.failed_verifications, before.failed_verifications)]),
    ...about('ipv6_prefix', [compareNumbers(now.ipv6_prefix, before.ipv6_prefix, String)]),
    ...about('nat64_prefixes', compareLists(now.nat64_prefixes, before.nat64_prefixes, TRANSLATED)),
    ...about('keys_per_caller', [compareNumbers(now.keys_per_caller, before.keys_per_caller, String)]),
    ...about('window_slack', [compareNumbers(now.window_slack, before.window_slack, formatDuration)]),
    ...about('time_zone', [compareZones(now, before)]),
    ...about('patience', [comparePatience(now.patience, before.patience)]),
    ...about('headers', [compareHeaders(now, before)]),
    ...about('bucket_hash', [compareHashes(now, before)]),
  ];
}

/** For the prefix of a translator: if it is added, clients behind the translator no longer share a quota. */
const TRANSLATED = {
  added: 'counts addresses by the IPv4 address in them for',
  removed: 'no longer counts addresses by the IPv4 address in them for',
};

function compareGlobal(now: LimitsConfig, before: LimitsConfig): Difference[] {
  const numbers = buckets.compareClasses(globalOf(now), globalOf(before));
  if (now.global === 'off' || before.global === 'off') return numbers;
  return buckets.compareShadow(now.global, before.global, numbers);
}

function globalOf({ global }: LimitsConfig): buckets.ClassQuotas {
  return buckets.classQuotas(global === 'off' ? undefined : global);
}

function compareOffences(now: OffenceConfig, before: OffenceConfig): (Difference | null)[] {
  const limits = compareQuotas(limitOf(now), limitOf(before));
  if (now === 'off' || before === 'off') return [limits];
  const [until, untilBefore] = [now.restrict_for, before.restrict_for];
  const text = `restricts for ${formatDuration(until)}, before ${formatDuration(untilBefore)}`;
  return [limits, compareSizes(untilBefore, until, text)];
}

function limitOf(offence: OffenceConfig) {
  return offence === 'off' ? null : offence.limit;
}

function compareAddresses(now: LimitsConfig, before: LimitsConfig): Difference | null {
  const [is, was] = [now, before].map(({ ignored_refusals: rule }) => rule !== 'off' && rule.addresses);
  if (is === was || now.ignored_refusals === 'off' || before.ignored_refusals === 'off') return null;
  return is
    ? differ('stricter', 'restricts addresses too', 0)
    : differ('looser', 'no longer restricts addresses');
}

function compareNumbers(now: number, before: number, format: (value: number) => string): Difference | null {
  return compareSizes(now, before, `${format(now)}, before ${format(before)}`);
}

/** Compares `patience`; `null` is off. More patience is looser: a request that waits is not refused. */
function comparePatience(now: number | null, before: number | null): Difference | null {
  const describe = (ms: number | null) => (ms === null ? 'off' : formatDuration(ms));
  return compareSizes(now ?? 0, before ?? 0, `${describe(now)}, before ${describe(before)}`);
}

function compareHeaders(now: LimitsConfig, before: LimitsConfig): Difference | null {
  const [is, was] = [now, before].map(({ headers }) => headers.includes('ratelimit'));
  const text = `RateLimit and RateLimit-Policy are ${is ? 'sent as well' : 'no longer sent'}`;
  return is === was ? null : differ('neutral', text);
}

function compareHashes({ bucket_hash: now }: LimitsConfig, { bucket_hash: before }: LimitsConfig) {
  const text = `${now}, before ${before}: clients see other X-RateLimit-Bucket`;
  return now === before ? null : differ('neutral', text);
}

/** Time zones have no order: with another one, some callers get their next day earlier, others later. */
function compareZones({ time_zone: now }: LimitsConfig, { time_zone: before }: LimitsConfig) {
  const text = `days, weeks and months begin at midnight in ${now}, before in ${before}: from their next boundary on`;
  return now === before ? null : differ('neutral', text);
}

type Entry = LimitsConfig['never_restrict'][number];

const SPARED = { added: 'no longer restricts', removed: 'may restrict again' } as const;
/** Entries removed from this list are allowed again, so the verbs are swapped. */
const BLOCKED = { added: 'no longer blocks', removed: 'blocks' } as const;

function entriesOf({ addresses, callers }: LimitsConfig['blocked']): Entry[] {
  return [...addresses, ...callers];
}

function compareEntries(
  now: readonly Entry[],
  before: readonly Entry[],
  verbs: { readonly added: string; readonly removed: string },
): Difference[] {
  const without = (list: readonly Entry[], others: readonly Entry[]) => {
    const known = new Set(others.map(keyOf));
    return list.filter(entry => !known.has(keyOf(entry)));
  };
  // Compares removed and added entries separately, because their numbers may be equal.
  return [
    ...compareLists([], namesOf(without(before, now)), verbs),
    ...compareLists(namesOf(without(now, before)), [], verbs),
  ];
}

function keyOf(entry: Entry): string {
  return typeof entry === 'string' ? entry : JSON.stringify(Object.entries(entry).sort());
}

/** Names networks but only counts callers, because a line of the log must not name a person. */
function namesOf(entries: readonly Entry[]): string[] {
  const networks = entries.filter(entry => typeof entry === 'string');
  const callers = entries.length - networks.length;
  if (callers === 0) return networks;
  return [...networks, `${callers} ${callers === 1 ? 'caller' : 'callers'}`];
}
