import type { ClassName, Consumption } from '../../config/index.ts';
import { consumptionOf, unitsReturnedBy } from '../../config/index.ts';
import {
  groupCounterKey,
  isSharedRole,
  type Limit,
  type LimitRole,
  unitsTaken,
  windowsOf,
} from '../../limits/index.ts';
import { Demand, DemandRoom, OffenceDemand } from './demand.ts';
import { Findings, type ReadOptions, readEvents } from './findings.ts';
import type { LogEvent, LoggedRequest } from './log/index.ts';

export interface MeasureOptions extends ReadOptions {
  /** `memory`: each gateway counts alone; `redis`: all count together. */
  readonly store: 'memory' | 'redis';
}

export interface Measured {
  /** The bucket; `null` for the global limit. */
  readonly bucket: string | null;
  /** `group`: all callers of a group together; `resource`: all callers for one value of the main parameter. */
  readonly callerClass: ClassName;
  readonly demand: Demand;
  /** The place of its quota in a list; `null` if it is written alone. */
  readonly at: number | null;
  requests: number;
  /** For a limit whose number a claim may set: whether it does so for these callers. `null` if only limits.yaml sets the number. */
  readonly part: ClaimedPart | null;
  /** Requests that the limit refused when the log was written. They count as demand as well. */
  refused: number;
  /** The highest number set by the claim of one of these callers. */
  highestSaid: number;
}

/** The two numbers next to a claim: `max` limits the number that it sets, `otherwise` is for tokens without it. */
export type ClaimedPart = 'max' | 'otherwise';

export type MeasuredLogs = Awaited<ReturnType<typeof measureLogs>>;

/** Determines how much of each limit the callers in the logs need. Ignores the quotas of these limits. */
export async function measureLogs(options: MeasureOptions) {
  const measuring = new Measuring(options);
  const counts = await readEvents(options, event => measuring.take(event));
  return { ...measuring.result, counts };
}

class Measuring {
  readonly #options: MeasureOptions;
  readonly #room = new DemandRoom();
  /** Measurements by limit identity and caller class. */
  readonly #rows = new Map<string, Measured>();
  readonly #offences: OffenceDemand;
  readonly #findings: Findings;
  #requests = 0;
  #startMs = 0;
  #endMs = 0;

  constructor(options: MeasureOptions) {
    this.#offences = new OffenceDemand(options.limits, this.#room);
    this.#findings = new Findings(options.limits);
    this.#options = { ...options, limits: this.#findings.limits };
  }

  get result() {
    return {
      ...this.#findings.found,
      offences: this.#offences.rows,
      rows: [...this.#rows.values()],
      unmeasured: this.#room.unmeasured,
      requests: this.#requests,
      startMs: this.#startMs,
      endMs: this.#endMs,
    };
  }

  take(event: LogEvent): void {
    if (event.kind === 'refund') this.#refund(event.decidedAtMs, event.request);
    else if (event.kind === 'decide') this.#decide(event.decidedAtMs, event);
    else if (event.kind === 'offence') this.#offend(event.request);
  }

  #decide(atMs: number, request: LoggedRequest): void {
    this.#findings.noteGateway(request);
    this.#findings.noteCaller(request);
    if (request.outcome === 'restricted' || request.outcome === 'blocked') {
      this.#findings.early++;
      return;
    }
    const consumption = consumptionOf(this.#options.limits, request);
    this.#begin(atMs, request, consumption === null);
    if (consumption === null) return;
    const { caller, main, group } = consumption;
    const gateway = this.#gatewayOf(request);
    const consume = (role: LimitRole, owner: string, key = owner) =>
      windowsOf(limitOf(consumption, role)).map((limit, at, { length }) =>
        this.#consume(
          { limit, at: length === 1 ? null : at },
          consumption,
          request,
          atMs,
          owner,
          `${gateway} ${key}`,
        ),
      );
    consume('global', caller);
    consume('caller', caller, `${caller} ${main}`);
    consume('group', groupCounterKey(group, main));
    consume('resource', main);
  }

  #offend(request: LoggedRequest): void {
    this.#findings.noteGateway(request);
    this.#offences.note(request, this.#gatewayOf(request));
  }

  #refund(atMs: number, request: LoggedRequest): void {
    const consumption = consumptionOf(this.#options.limits, request);
    if (consumption === null) return;
    const { bucket, caller, main, group, cost } = consumption;
    const { status, isOfService, decidedAtMs } = request;
    const gateway = this.#gatewayOf(request);
    const unitsOf = (role: LimitRole, key: string) =>
      windowsOf(limitOf(consumption, role)).map(limit => ({ limit, key: `${gateway} ${key}` }));
    const units = [
      ...unitsOf('caller', `${caller} ${main}`),
      ...unitsOf('group', groupCounterKey(group, main)),
      ...unitsOf('resource', main),
    ];
    for (const { limit, key } of unitsReturnedBy(status, isOfService, units, bucket)) {
      const { demand } = this.#rowFor({ limit, at: null }, consumption, saidOf(limit, request));
      demand.refund(atMs, decidedAtMs, key, unitsOfRequest(limit, request, cost));
    }
  }

  /** The gateway whose counters consumed the request; '' if all gateways share them. */
  #gatewayOf({ instance }: LoggedRequest): string {
    return this.#options.store === 'redis' ? '' : instance;
  }

  #begin(atMs: number, request: LoggedRequest, isAmbiguous: boolean): void {
    this.#findings.paths.count(request);
    if (isAmbiguous) this.#findings.ambiguous++;
    this.#requests++;
    if (this.#startMs === 0) this.#startMs = atMs;
    this.#endMs = Math.max(this.#endMs, atMs);
  }

  #consume(
    window: ListedLimit,
    consumption: Consumption,
    request: LoggedRequest,
    atMs: number,
    owner: string,
    key: string,
  ): void {
    const { limit } = window;
    const { outcome } = request;
    const said = saidOf(limit, request);
    const row = this.#rowFor(window, consumption, said);
    row.requests++;
    if (said !== undefined) row.highestSaid = Math.max(row.highestSaid, said);
    if (outcome === limit.role) row.refused++;
    row.demand.consume(atMs, owner, key, unitsOfRequest(limit, request, consumption.cost));
  }

  /** @param said the number that the caller's token sets */
  #rowFor(
    { limit, at }: ListedLimit,
    { callerClass: ofRequest, bucket }: Consumption,
    said: number | undefined,
  ): Measured {
    const callerClass = isSharedRole(limit.role) ? limit.role : ofRequest;
    const part =
      limit.role !== 'caller' || limit.claim === null ? null : said === undefined ? 'otherwise' : 'max';
    const name = `${limit.identity} ${callerClass} ${part}`;
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    // Callers whose tokens set different numbers are in one row.
    const demand = new Demand(part === 'max' ? { ...limit, units: limit.maxUnits } : limit, this.#room);
    const owner = limit.role === 'global' ? null : (bucket?.name ?? null);
    const row: Measured = {
      bucket: owner,
      callerClass,
      at,
      part,
      demand,
      requests: 0,
      refused: 0,
      highestSaid: 0,
    };
    this.#rows.set(name, row);
    return row;
  }
}

/** The number that the caller's token sets for this limit. */
function saidOf({ role, claim }: Limit, { claimed }: LoggedRequest): number | undefined {
  return role !== 'caller' || claim === null ? undefined : claimed?.numbers.get(claim);
}

/** The units of a limit that a request consumed in the end. `cost`: used if its response named no price. */
function unitsOfRequest(limit: Limit, { price }: LoggedRequest, cost: number): number {
  return unitsTaken(limit, limit.isPriced && price !== null ? price : cost);
}

/** A limit, and its place in the list of quotas that it is written in; `null` if it is written alone. */
interface ListedLimit {
  readonly limit: Limit;
  readonly at: number | null;
}

/**
 * The enforced limit of this role, or the one in shadow if none is enforced. If other numbers are tested on a share of the
 * callers, the limit for the others.
 */
function limitOf({ set, bucket, callerClass, group }: Consumption, role: LimitRole): Limit | null {
  const rollout = bucket?.rollout ?? null;
  const isTried = rollout?.triesNumbers === true && role !== 'global';
  const { [role]: held, shadow } = isTried ? rollout.others.exemptSets.of(callerClass) : set;
  // A caller without a group consumes none of its limit.
  if (role === 'group' && group === '') return null;
  return held ?? shadow?.[role] ?? null;
}
