import type { Consumption, LimitsModel } from '../../config/index.ts';
import { RecentMap } from '../../core/index.ts';
import type { Decision } from '../../limits/index.ts';
import type { LimitEngine } from './limit-engine.ts';
import type { LoggedRequest } from './log/index.ts';
import type { ReplayedKind } from './restriction-replay.ts';
import { isInvalidRefusal, RestrictedSenders } from './restriction-replay.ts';

/**
 * What the tested limits decided about a request whose end comes later in the log. `counts`: they refused it, which is an offence.
 */
type Fate = 'counts' | 'harmless';

const MAX_FATES = 200_000;

/** Applies the restrictions of the tested limits, and counts their refusals next to those in the log. */
export class RestrictionLedger {
  readonly #limits: LimitsModel;
  readonly #hasRules: boolean;
  readonly #before = new RestrictedSenders();
  readonly #after = new RestrictedSenders();
  readonly #fates = new RecentMap<Fate>(MAX_FATES);
  /**
   * Requests about which a replay cannot know everything. `callers`: their callers, because they were refused before their token
   * was checked, and are not refused now. `outcomes`: how the service would have answered, because they were refused then and are
   * admitted now.
   */
  readonly #unknown = { callers: 0, outcomes: 0 };

  constructor(limits: LimitsModel) {
    const { invalidRequests, webhookNotFound, ignoredRefusals } = limits;
    this.#limits = limits;
    this.#hasRules = invalidRequests !== null || webhookNotFound !== null || ignoredRefusals !== null;
  }

  get report() {
    const { callers } = this.#limits.neverRestrict;
    return {
      before: this.#before.counts,
      after: this.#after.counts,
      unknown: { ...this.#unknown },
      // The log does not name callers, so callers that were spared when it was written are spared in the replay.
      sparesCallers: this.#hasRules && callers.size > 0,
    };
  }

  /** Counts what a restriction refused when the log was written. */
  noteLogged(request: LoggedRequest): void {
    if (request.outcome !== 'restricted') return;
    const by = request.facts?.restrictedBy ?? null;
    if (by !== null) this.#before.note(KINDS[by], request, this.#limits);
  }

  /**
   * Returns whether a restriction refuses the request. Null if unknown, because the log does not name its caller: leave it out.
   */
  refuses(request: LoggedRequest, engine: LimitEngine): boolean | null {
    const kind = engine.isRestricting ? engine.restricting.refusing(request) : null;
    if (kind !== null) {
      this.#after.note(kind, request, this.#limits);
      this.passedOver(request);
      return true;
    }
    if (request.facts?.isCallerUnknown !== true) return false;
    this.#unknown.callers++;
    return null;
  }

  /** Called if the replay refused the request before its limits were checked. Its end in the log is then not an offence. */
  passedOver(request: LoggedRequest): void {
    if (isAwaited(request)) this.#keep(request, 'harmless');
  }

  /** Called if the tested limits admit the request. If it was refused in the log, its end is unknown. */
  admitted({ outcome }: LoggedRequest): void {
    if (outcome !== 'admitted') this.#unknown.outcomes++;
  }

  /** Called if the tested limits refuse the request. */
  refusedByLimits(
    request: LoggedRequest,
    engine: LimitEngine,
    consumption: Consumption,
    decision: Decision,
  ): void {
    if (!this.#hasRules) return;
    engine.restricting.refused(request, consumption, decision);
    const counts = isInvalidRefusal(request, consumption, decision);
    const isLater = request.part === 'whole' && isAwaited(request);
    if (counts && !isLater) engine.restricting.offended(request, 'invalid_requests');
    if (isAwaited(request)) this.#keep(request, counts && isLater ? 'counts' : 'harmless');
  }

  /** Called if the request ended as an offence according to the log. */
  offended(request: LoggedRequest, engine: LimitEngine): void {
    const offence = request.facts?.offence ?? null;
    if (offence === null || !this.#hasRules) return;
    const key = keyOf(request);
    const fate = this.#fates.get(key);
    this.#fates.delete(key);
    if (fate === 'harmless') return;
    if (fate === 'counts') {
      engine.restricting.offended(request, 'invalid_requests');
      return;
    }
    const { outcome } = request;
    // The limits of the log refused it, and that was the offence; the tested limits admit it.
    if (outcome !== 'admitted' && outcome !== 'undecided') return;
    if (outcome === 'undecided' && engine.isRestricting && engine.restricting.refusing(request) !== null)
      return;
    engine.restricting.offended(request, offence.reason);
  }

  #keep(request: LoggedRequest, fate: Fate): void {
    this.#fates.set(keyOf(request), fate);
  }
}

const KINDS: Readonly<Record<NonNullable<LoggedRequest['facts']>['restrictedBy'] & string, ReplayedKind>> = {
  address: 'address',
  caller: 'principal',
  webhook: 'webhook',
  blocked_address: 'address',
  blocked_caller: 'principal',
};

/** Returns whether the end of the request comes later: on another line, or as an offence on this one. */
function isAwaited({ part, facts }: LoggedRequest): boolean {
  return part === 'begin' || (facts !== null && facts.offence !== null);
}

function keyOf({ instance, sequence }: LoggedRequest): string {
  return `${instance} ${sequence}`;
}
