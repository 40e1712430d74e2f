import type { LimitsModel } from '../config/index.ts';
import { RecentMap } from '../core/index.ts';
import type { Decision } from '../limits/index.ts';
import type { Claim } from '../runtime/index.ts';
import type { LimitEngine } from './limit-engine.ts';
import type { LoggedRequest } from './log/index.ts';
import {
  isInvalidRefusal,
  type RestrictedCounts,
  type RestrictedKind,
  RestrictedSenders,
} from './restriction-replay.ts';

/** What the limits that are tried did with a request whose end is still to come: refused it, and that counts or does not. */
type Fate = 'counts' | 'harmless';

const MAX_FATES = 200_000;

/** Says what restrictions refuse, and what counts towards them: with the limits that are tried, and with those that ran. */
export class RestrictionLedger {
  readonly #limits: LimitsModel;
  readonly #hasRules: boolean;
  readonly #before = new RestrictedSenders();
  readonly #after = new RestrictedSenders();
  readonly #fates = new RecentMap<Fate>(MAX_FATES);
  #unknownCallers = 0;
  #unknownOutcomes = 0;
  #unknownMoments = 0;
  #inShadow = 0;

  constructor(limits: LimitsModel) {
    const { invalidRequests, webhookNotFound, ignoredRefusals } = limits;
    this.#limits = limits;
    this.#hasRules = invalidRequests !== null || webhookNotFound !== null || ignoredRefusals !== null;
  }

  get report(): RestrictionReport {
    const { callers } = this.#limits.neverRestrict;
    return {
      before: this.#before.counts,
      after: this.#after.counts,
      inShadow: this.#inShadow,
      unknown: {
        callers: this.#unknownCallers,
        outcomes: this.#unknownOutcomes,
        moments: this.#unknownMoments,
      },
      sparesCallers: this.#hasRules && callers.size > 0,
    };
  }

  noteShadowed(): void {
    this.#inShadow++;
  }

  /** What the limits that ran did. */
  ran(request: LoggedRequest): void {
    if (request.outcome !== 'restricted') return;
    const by = request.facts?.restrictedBy ?? null;
    if (by !== null) this.#before.note(KINDS[by], request);
  }

  /** Whether a restriction refuses the request now. Null: nobody can know, and it is to be left out. */
  refuses(request: LoggedRequest, engine: LimitEngine): boolean | null {
    const kind = engine.isRestricting ? engine.restricting.refusing(request) : null;
    if (kind !== null) {
      this.#after.note(kind, request);
      this.passedOver(request);
      return true;
    }
    if (request.facts?.isCallerUnknown !== true) return false;
    this.#unknownCallers++;
    return null;
  }

  /** It was refused before the limits: however it ended in truth does not count. */
  passedOver(request: LoggedRequest): void {
    if (isAwaited(request)) this.#keep(request, 'harmless');
  }

  admitted({ outcome }: LoggedRequest): void {
    if (outcome !== 'admitted') this.#unknownOutcomes++;
  }

  refusedByLimits(request: LoggedRequest, engine: LimitEngine, claim: Claim, decision: Decision): void {
    if (!this.#hasRules) return;
    engine.restricting.refused(request, claim, decision);
    const counts = isInvalidRefusal(request, claim, decision);
    const isLater = request.part === 'whole' && isAwaited(request);
    if (counts && !isLater) engine.restricting.offended(request, 'invalid_requests');
    if (isAwaited(request)) this.#keep(request, counts && isLater ? 'counts' : 'harmless');
  }

  /** The request ended so that it counted when the log was written. */
  offended(request: LoggedRequest, engine: LimitEngine): void {
    const offence = request.facts?.offence ?? null;
    if (offence === null || !this.#hasRules) return;
    const key = keyOf(request);
    const fate = this.#fates.get(key);
    this.#fates.delete(key);
    if (fate === 'harmless') return;
    const { reason, after } = offence;
    if (fate === 'counts') {
      engine.restricting.offended(request, 'invalid_requests', after);
      return;
    }
    const { outcome } = request;
    // It was refused then and is admitted now.
    if (outcome !== 'admitted' && outcome !== 'undecided') return;
    if (outcome === 'undecided' && engine.isRestricting && engine.restricting.refusing(request) !== null)
      return;
    if (offence.isGuessed) this.#unknownMoments++;
    engine.restricting.offended(request, reason, after);
  }

  #keep(request: LoggedRequest, fate: Fate): void {
    this.#fates.set(keyOf(request), fate);
  }
}

const KINDS: Readonly<Record<NonNullable<LoggedRequest['facts']>['restrictedBy'] & string, RestrictedKind>> =
  {
    address: 'address',
    caller: 'principal',
    webhook: 'webhook',
    blocked_address: 'address',
    blocked_caller: 'principal',
  };

/** Whether another line, or another event of this one, may tell of its end. */
function isAwaited({ part, facts }: LoggedRequest): boolean {
  return part === 'begin' || (facts !== null && facts.offence !== null);
}

function keyOf({ instance, sequence }: LoggedRequest): string {
  return `${instance} ${sequence}`;
}

/** What restrictions refused, and what cannot be known of it. */
export interface RestrictionReport {
  readonly before: RestrictedCounts;
  readonly after: RestrictedCounts;
  /** Restrictions that would begin if their rules were not in shadow. */
  readonly inShadow: number;
  readonly unknown: {
    /** Requests that a restriction or a block refused before their token was looked at, and that are not refused any more. */
    readonly callers: number;
    /** Requests that were refused and are not any more: nobody knows how their service would have answered. */
    readonly outcomes: number;
    /** Requests that counted at a moment that the log, of an earlier version, does not tell. */
    readonly moments: number;
  };
  /** `never_restrict` lists callers, whom the log does not name: those count who were spared when it was written. */
  readonly sparesCallers: boolean;
}
