import { type ClaimedValues, RecentMap, WeakMemo } from '../../core/index.ts';
import { changeLimits, type Limit, type LimitSet } from './limit-definition.ts';

/** Sets remembered per set of the configuration: tokens contain few different numbers. */
const MAX_SETS = 1_024;

/** The sets derived from one set of the configuration. */
interface Variants {
  /** For callers whose tokens have no such claim. */
  readonly unclaimed: LimitSet;
  /** The sets by the claims of a token: all its requests pass the same object, which saves a lookup. */
  readonly ofToken: WeakMap<ClaimedValues, LimitSet>;
  /** The sets by their numbers: tokens with the same numbers share a set. */
  readonly ofNumbers: RecentMap<LimitSet>;
}

/** Chooses the limits of a bucket with a group, or with numbers that a caller's token may set. */
export class ClaimedLimits {
  /** The claim that distinguishes groups; `null` if the bucket has no group limit. */
  readonly #claim: string | null;
  readonly #variants = new WeakMemo(variantsOf);

  constructor(claim: string | null) {
    this.#claim = claim;
  }

  /** The group that a caller's requests count for; '' if none. */
  groupOf(values: ClaimedValues | null): string {
    return values === null || this.#claim === null ? '' : (values.groups.get(this.#claim) ?? '');
  }

  /** @param set the configured set, with the limit of the group, and with the numbers for callers whose token has none */
  of(set: LimitSet, values: ClaimedValues | null): LimitSet {
    const variants = this.#variants.of(set);
    if (values === null) return variants.unclaimed;
    return variants.ofToken.get(values) ?? this.#choose(set, values, variants);
  }

  #choose(set: LimitSet, values: ClaimedValues, { ofToken, ofNumbers }: Variants): LimitSet {
    const hasGroup = this.groupOf(values) !== '';
    const key = `${hasGroup} ${unitsFor(set.caller, values)} ${unitsFor(set.shadow?.caller ?? null, values)}`;
    let chosen = ofNumbers.get(key);
    if (chosen === undefined) {
      chosen = changeLimits(set, limit =>
        limit.role === 'group' && !hasGroup ? null : withUnits(limit, unitsFor(limit, values)),
      );
      ofNumbers.set(key, chosen);
    }
    ofToken.set(values, chosen);
    return chosen;
  }
}

function variantsOf(set: LimitSet): Variants {
  const unclaimed = changeLimits(set, limit => (limit.role === 'group' ? null : limit));
  return { unclaimed, ofToken: new WeakMap(), ofNumbers: new RecentMap(MAX_SETS) };
}

/** The number that applies to a caller. */
function unitsFor(limit: Limit | null, { numbers }: ClaimedValues): number {
  if (limit === null) return 0;
  const said = limit.role === 'caller' && limit.claim !== null ? numbers.get(limit.claim) : undefined;
  if (said === undefined) return limit.units;
  // A limit below the cost of one request would never admit any.
  return Math.min(Math.max(said, limit.largestCost), limit.maxUnits);
}

/** Makes a limit that uses the same counters with another number. */
function withUnits(limit: Limit, units: number): Limit {
  if (units === limit.units) return limit;
  // With a whole step of slack, a smooth burst could exceed the limit by one request.
  const mostMs = limit.algorithm === 'smooth' ? limit.periodMs / units / 2 : limit.slackMs;
  return { ...limit, units, slackMs: Math.min(limit.slackMs, mostMs) };
}
