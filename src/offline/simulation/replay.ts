import type { BucketModel, ReturnableUnits } from '../../config/index.ts';
import { consumptionOf, returnableUnitsOf, unitsReturnedBy } from '../../config/index.ts';
import { RecentMap } from '../../core/index.ts';
import { Blocked } from '../../gateway/runtime/index.ts';
import type { Decision, Place } from '../../limits/index.ts';
import { addressKey } from '../../wire/http/index.ts';
import { Findings, readEvents } from './findings.ts';
import { Engines, LimitEngine, MAX_KEYS } from './limit-engine.ts';
import { type LogEvent, type LoggedRequest, Returns } from './log/index.ts';
import type { MeasureOptions } from './measure-logs.ts';
import { RestrictionLedger } from './restriction-ledger.ts';
import { type ReplayOutcome, ReplayTally } from './tally.ts';

export interface ReplayOptions extends MeasureOptions {
  /** Called after each decision, in order. */
  readonly onDecision?: (request: LoggedRequest, outcome: ReplayOutcome) => void;
  /** How many counters each gateway has. Default: `MAX_KEYS` */
  readonly maxKeys?: number;
}

export type Replayed = Awaited<ReturnType<typeof replayLogs>>;

const MAX_UNITS = 200_000;
/** Virtual time begins this much before the first event. */
const LEAD_MS = 1_000;

interface Units {
  readonly engine: LimitEngine;
  readonly units: readonly ReturnableUnits[];
  readonly bucket: BucketModel | null;
  /** Maximum that the request is charged. */
  readonly most: number;
}

/** Decides about every request of the logs again, with other limits, at the times in the logs. */
export async function replayLogs(options: ReplayOptions) {
  const returns = new Returns(options.limits);
  const replay = new Replay(options, returns);
  const withEnds = options.limits.buckets.some(({ concurrent }) => concurrent !== null);
  const counts = await readEvents(options, event => replay.take(event), returns, withEnds);
  return { ...replay.result, counts };
}

class Replay {
  readonly #options: ReplayOptions;
  readonly #returns: Returns;
  readonly #tally = new ReplayTally();
  readonly #engines: Engines;
  readonly #findings: Findings;
  readonly #units = new RecentMap<Units>(MAX_UNITS);
  readonly #places = new Map<string, Place>();
  readonly #restrictions: RestrictionLedger;
  readonly #blocked: Blocked | null;
  readonly #blocksCallers: boolean;
  #patient = 0;

  constructor(options: ReplayOptions, returns: Returns) {
    const { limits, maxKeys = MAX_KEYS } = options;
    this.#returns = returns;
    this.#findings = new Findings(limits);
    this.#options = { ...options, limits: this.#findings.limits };
    this.#restrictions = new RestrictionLedger(limits);
    this.#engines = new Engines(nowMs => new LimitEngine(this.#options.limits, nowMs - LEAD_MS, maxKeys));
    this.#blocksCallers = (limits.blocked?.callers.size ?? 0) > 0;
    this.#blocked = limits.blocked === null ? null : new Blocked(limits.blocked, limits.neverRestrict);
  }

  get result() {
    const { patienceMs } = this.#options.limits;
    const restrictions = this.#restrictions.report;
    return {
      ...this.#findings.found,
      restrictions,
      early: restrictions.unknown.callers,
      tally: this.#tally,
      restarts: this.#engines.restarts,
      // Refused requests that would be held instead, and the maximum time for that.
      patience: patienceMs === null ? null : { forMs: patienceMs, requests: this.#patient },
      blocksCallers: this.#blocksCallers,
      enforcesShares: this.#options.limits.buckets.some(({ rollout }) => rollout !== null),
    };
  }

  take(event: LogEvent): void {
    if (event.kind === 'decide') this.#decide(event.decidedAtMs, event);
    else if (event.kind === 'refund') this.#refund(event.decidedAtMs, event.request);
    else if (event.kind === 'price') this.#charge(event.decidedAtMs, event.request);
    else if (event.kind === 'end') this.#end(event.request);
    else this.#offend(event.decidedAtMs, event.request);
  }

  #decide(atMs: number, request: LoggedRequest): void {
    this.#findings.noteGateway(request);
    this.#findings.noteCaller(request);
    this.#findings.paths.count(request);
    this.#restrictions.noteLogged(request);
    const outcome = this.#outcomeOf(atMs, request);
    if (outcome === null) return;
    this.#tally.note(atMs, request, outcome);
    this.#options.onDecision?.(request, outcome);
  }

  /** Decides about one request again; `null` if that is impossible, so that the request is left out. */
  #outcomeOf(atMs: number, request: LoggedRequest): ReplayOutcome | null {
    const engine = this.#engineOf(request, atMs);
    if (this.#isBlocked(request)) {
      this.#restrictions.passedOver(request);
      return this.#refuse(request, 'blocked');
    }
    engine.reach(atMs);
    const isRestricted = this.#restrictions.refuses(request, engine);
    if (isRestricted === null) return null;
    return isRestricted ? this.#refuse(request, 'restriction') : this.#decideByLimits(atMs, request, engine);
  }

  /**
   * Returns whether the request is blocked. The log has only pseudonyms, so if limits.yaml blocks callers, those that were
   * blocked when the log was written stay blocked.
   */
  #isBlocked({ client, facts }: LoggedRequest): boolean {
    if (this.#blocked === null) return false;
    const isCaller = facts !== null && facts.restrictedBy === 'blocked_caller' && this.#blocksCallers;
    return isCaller || this.#blocked.hasAddress(addressKey(client, this.#options.limits.keying), client);
  }

  /** Counts a request refused before the limits under its route's bucket. It consumes nothing. */
  #refuse(request: LoggedRequest, refusedBy: 'blocked' | 'restriction'): ReplayOutcome | null {
    const consumption = consumptionOf(this.#options.limits, request);
    if (consumption === null) this.#findings.ambiguous++;
    return consumption === null ? null : { bucket: consumption.bucket?.name ?? null, refusedBy };
  }

  #decideByLimits(atMs: number, request: LoggedRequest, engine: LimitEngine): ReplayOutcome | null {
    const verdict = engine.decide(atMs, request);
    if (verdict === null) {
      this.#findings.ambiguous++;
      return null;
    }
    const { consumption, decision } = verdict;
    if (decision.place !== null) this.#places.set(unitKey(request), decision.place);
    if (decision.admitted) this.#restrictions.admitted(request);
    else this.#restrictions.refusedByLimits(request, engine, consumption, decision);
    const units = decision.admitted ? returnableUnitsOf(consumption, decision) : [];
    const most = consumption.price?.most ?? 0;
    if (units.length > 0) this.#keepUnits(request, { engine, units, bucket: consumption.bucket, most });
    const { patienceMs } = this.#options.limits;
    if (!decision.admitted && !decision.atOnce && patienceMs !== null && decision.retryAfterMs <= patienceMs)
      this.#patient++;
    const bucket = consumption.bucket?.name ?? null;
    return { bucket, refusedBy: refusingLimit(decision) };
  }

  #offend(atMs: number, request: LoggedRequest): void {
    this.#findings.noteGateway(request);
    if (request.outcome === 'undecided' && this.#isBlocked(request)) return;
    const engine = this.#engineOf(request, atMs);
    engine.reach(atMs);
    this.#restrictions.offended(request, engine);
  }

  /** Remembers the units if some were returned, or if the end of the request is on a later line: they may be returned. */
  #keepUnits(request: LoggedRequest, units: Units): void {
    const isOver = request.part === 'whole' && request.price === null;
    if (isOver && !this.#returns.includes(request)) return;
    this.#units.set(unitKey(request), units);
  }

  #end(request: LoggedRequest): void {
    const key = unitKey(request);
    this.#places.get(key)?.leave();
    this.#places.delete(key);
  }

  /** Charges the final cost of a request, if its response names it under these limits. */
  #charge(atMs: number, request: LoggedRequest): void {
    const key = unitKey(request);
    const kept = this.#units.get(key);
    if (kept === undefined || request.price === null || kept.most === 0) return;
    const price = Math.min(request.price, kept.most);
    for (const unit of kept.units)
      if (unit.limit.isPriced) kept.engine.refund(atMs, { ...unit, cost: unit.cost - price });
    const units = kept.units.map(unit => (unit.limit.isPriced ? { ...unit, cost: price } : unit));
    this.#units.set(key, { ...kept, units });
  }

  #refund(atMs: number, request: LoggedRequest): void {
    const key = unitKey(request);
    const kept = this.#units.get(key);
    if (kept === undefined) return;
    const { status, isOfService, price } = request;
    const returned = unitsReturnedBy(status, isOfService, kept.units, kept.bucket);
    for (const unit of returned) kept.engine.refund(atMs, unit);
    // The price may be known later. It is then settled with the units that were not returned.
    if (price === null) this.#units.delete(key);
    else this.#units.set(key, { ...kept, units: kept.units.filter(each => !returned.includes(each)) });
  }

  #engineOf({ instance }: LoggedRequest, atMs: number): LimitEngine {
    const name = this.#options.store === 'redis' ? '' : instance;
    return this.#engines.of(name, atMs);
  }
}

function refusingLimit({ admitted, atOnce, role }: Decision): ReplayOutcome['refusedBy'] {
  if (admitted) return 'nothing';
  return atOnce ? 'concurrent' : (role ?? 'global');
}

function unitKey({ instance, sequence }: LoggedRequest): string {
  return `${instance} ${sequence}`;
}
