import { finishedWithin, type TimerClock, type UnlistedProxy } from '../../core/index.ts';
import type { InFlightCount } from '../../limits/index.ts';
import { joinedLevels, type Levels, type ObservationGrowth } from '../../observe/index.ts';
import type { EndpointsState } from '../../upstream/index.ts';

/** How often a worker reports unprompted. */
export const REPORT_MS = 1_000;
/** A worker that was silent for this long is shown as not serving. */
const SILENT_MS = 3_000;
/** How long a scrape or a status page waits for workers. */
const WAIT_MS = 500;

/**
 * How much a worker reports.
 * - `counts`: what it has counted, and a few numbers: about once a second, unprompted
 * - `state`: also the state of its upstreams, and whose requests are in flight: for the status page
 * - `scrape`: also the values that each thread has
 */
export type ReportExtent = 'counts' | 'state' | 'scrape';

/** What a worker reports to the main thread, about once a second and on request. */
export interface WorkerReport {
  readonly growth: ObservationGrowth;
  readonly connections: number;
  readonly requestsInFlight: number;
  /** The delay of its event loop, averaged over a second; `null` if unknown. */
  readonly loopDelayMs: number | null;
  /** `null` if it was not requested. */
  readonly state: WorkerState | null;
  /** The values that each thread has; `null` if not requested. */
  readonly levels: Levels | null;
}

interface WorkerState {
  /** Open connections, by upstream. */
  readonly upstreamConnections: ReadonlyMap<string, number>;
  readonly endpoints: ReadonlyMap<string, EndpointsState>;
  readonly unlistedProxies: readonly UnlistedProxy[];
  /** Whose requests are in flight in buckets with `concurrent`. */
  readonly inFlight: readonly InFlightCount[];
}

interface RunningWorker {
  readonly startedAtMs: number;
  readonly ask: (wanted: ReportExtent) => Promise<WorkerReport>;
  /** Its last report, and when that arrived; `null` before the first. */
  last: WorkerReport | null;
  heardAtMs: number;
  /** The last requested state; `null` before. */
  state: WorkerState | null;
  levels: Levels;
}

/** What is known about a worker number. Kept when the worker is replaced. */
interface Seat {
  /** `null` while a worker is being replaced. */
  running: RunningWorker | null;
  replacements: number;
  requests: number;
}

/**
 * Keeps what the workers of a process report, for their main thread to report as a whole. What a worker has counted outlives it.
 */
export class WorkerReports {
  readonly #clock: TimerClock;
  readonly #seats = new Map<number, Seat>();
  #count: (growth: ObservationGrowth) => void = () => {};
  /** The distributions of threads that have ended. */
  #gone: Levels[] = [];
  #joining = Promise.resolve();

  constructor(clock: TimerClock) {
    this.#clock = clock;
  }

  /** Sets the receiver of what workers have counted. Call it before they start. */
  follow(count: (growth: ObservationGrowth) => void): void {
    this.#count = count;
  }

  /**
   * Called when a worker gets this number. Call the returned function with each of its reports.
   *
   * @param ask requests a report from it
   */
  started(worker: number, ask: RunningWorker['ask']): (report: WorkerReport) => void {
    const seat = this.#seats.get(worker) ?? { running: null, replacements: -1, requests: 0 };
    const startedAtMs = this.#clock.epochMs();
    const running: RunningWorker = { startedAtMs, ask, last: null, heardAtMs: 0, state: null, levels: [] };
    seat.running = running;
    seat.replacements++;
    this.#seats.set(worker, seat);
    return report => this.#heard(seat, running, report);
  }

  ended(worker: number): void {
    const seat = this.#seats.get(worker);
    const { levels = [] } = seat?.running ?? {};
    this.#gone.push(levels.filter(({ type }) => String(type) === 'histogram'));
    if (seat !== undefined) seat.running = null;
  }

  /** Asks all workers for a report. Resolves when they have answered, or after half a second: a late answer still counts. */
  async refresh(wanted: ReportExtent): Promise<void> {
    if (this.#seats.size === 0) return;
    const asked = [...this.#seats.values()].map(async seat => {
      const { running } = seat;
      if (running !== null) this.#heard(seat, running, await running.ask(wanted));
    });
    await finishedWithin(WAIT_MS, Promise.allSettled(asked), this.#clock);
  }

  async levels(): Promise<readonly Levels[]> {
    // Scrapes are merged one after the other: a worker that dies meanwhile is added to the end of the list.
    this.#joining = this.#joining.then(() => this.#joinGone());
    await this.#joining;
    return [...this.#gone, ...this.#running.map(({ levels }) => levels)];
  }

  async #joinGone(): Promise<void> {
    const count = this.#gone.length;
    if (count > 1) this.#gone = [await joinedLevels(this.#gone), ...this.#gone.slice(count)];
  }

  get connections(): number {
    return sumOf(this.#last.map(({ connections }) => connections));
  }

  get requestsInFlight(): number {
    return sumOf(this.#last.map(({ requestsInFlight }) => requestsInFlight));
  }

  get inFlight(): readonly InFlightCount[] {
    return this.#states.flatMap(({ inFlight }) => inFlight);
  }

  get views() {
    const nowMs = this.#clock.monotonicMs();
    return Array.from(this.#seats, ([worker, { running, replacements, requests }]) => ({
      worker,
      isUp: running !== null && running.last !== null && nowMs - running.heardAtMs < SILENT_MS,
      startedAtMs: running?.startedAtMs ?? null,
      replacements,
      requests,
      connections: running?.last?.connections ?? 0,
      requestsInFlight: running?.last?.requestsInFlight ?? 0,
      loopDelayMs: running?.last?.loopDelayMs ?? null,
    }));
  }

  /** Adds the workers' connections to upstreams to these. */
  upstreamConnections(own: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    const sums = new Map(own);
    for (const { upstreamConnections } of this.#states)
      for (const [upstream, open] of upstreamConnections)
        sums.set(upstream, (sums.get(upstream) ?? 0) + open);
    return sums;
  }

  /** The state of endpoints as the workers report it, since they send the requests; `own` if none has reported yet. */
  endpoints(own: ReadonlyMap<string, EndpointsState>): ReadonlyMap<string, EndpointsState> {
    const told = this.#states.map(({ endpoints }) => endpoints);
    return new Map(
      Array.from(own, ([upstream, state]) => {
        const states = told.flatMap(endpoints => endpoints.get(upstream) ?? []);
        return [upstream, states.length === 0 ? state : asOne(states)];
      }),
    );
  }

  /** The proxies that workers have noticed, without duplicates. */
  get unlistedProxies(): UnlistedProxy[] {
    const reports = this.#states.flatMap(({ unlistedProxies }) => unlistedProxies);
    return [...new Map(reports.map(report => [report.address, report])).values()];
  }

  #heard(seat: Seat, running: RunningWorker, report: WorkerReport): void {
    this.#count(report.growth);
    seat.requests += requestsIn(report.growth);
    running.last = report;
    running.state = report.state ?? running.state;
    running.levels = report.levels ?? running.levels;
    running.heardAtMs = this.#clock.monotonicMs();
  }

  get #running(): RunningWorker[] {
    return [...this.#seats.values()].flatMap(({ running }) => running ?? []);
  }

  get #states(): WorkerState[] {
    return this.#running.flatMap(({ state }) => state ?? []);
  }

  get #last(): WorkerReport[] {
    return this.#running.flatMap(({ last }) => last ?? []);
  }
}

function requestsIn({ metrics: { counters } }: ObservationGrowth): number {
  const [, series = []] = counters.find(([name]) => name === 'weir_requests_total') ?? [];
  return series.reduce((sum, [, count]) => sum + count, 0);
}

/** Merges what several workers report about the endpoints of one upstream. An endpoint is out if it is out for every worker. */
function asOne(states: readonly EndpointsState[]): EndpointsState {
  const byName = Map.groupBy(
    states.flatMap(({ endpoints }) => endpoints),
    ({ name }) => name,
  );
  return {
    endpoints: Array.from(byName, ([name, each]) => {
      const out = each.filter(({ outFor }) => outFor !== null);
      const [fault] = [...out, ...each].flatMap(({ why }) => why ?? []);
      const isOutForSome = out.length > 0 && out.length < each.length;
      return {
        name,
        outFor: isOutForSome ? null : (out[0]?.outFor ?? null),
        why: isOutForSome ? `out for ${out.length} of ${each.length} workers: ${fault}` : (fault ?? null),
        weight: each[0]?.weight ?? 0,
        connections: sumOf(each.map(({ connections }) => connections)),
        inFlight: sumOf(each.map(({ inFlight }) => inFlight)),
      };
    }),
    allOut: states.every(({ allOut }) => allOut),
    lookupFault: states.find(({ lookupFault }) => lookupFault !== null)?.lookupFault ?? null,
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
