import type { CallerClass, LimitsModel } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import type { RoutePattern } from '../routing/index.ts';
import type { MeasuredOffences } from './demand.ts';
import type { NeedPanel } from './draw-needs.ts';
import type { Measured, MeasuredLogs } from './measure-logs.ts';
import { findUnanswered, type LogReport, logReportOf, type Unanswered } from './report.ts';

/** The shares of callers that are told, in percent. */
export const PERCENTILES = ['50', '95', '99', '99.9', '100'] as const;
export type Percentile = (typeof PERCENTILES)[number];

/**
 * The fewest callers of whom a percentile says anything: with fewer, none is beyond it, and it is the need of the one who needs most,
 * which 100 % is.
 */
export const FEWEST_CALLERS: Readonly<Record<Percentile, number>> = {
  50: 2,
  95: 20,
  99: 100,
  '99.9': 1_000,
  100: 1,
};

/** The number that so many percent never exceed in a period; null: there are too few of them to say. */
export type Needs = Readonly<Record<Percentile, number | null>>;

/** No quota is higher. */
const MAX_UNITS = 65_535;

/** What callers in the logs need, and the numbers that follow. */
export interface Suggestion {
  readonly from: string;
  readonly to: string;
  readonly requests: number;
  readonly percentile: Percentile;
  readonly headroomPercent: number;
  readonly limits: readonly SuggestedLimit[];
  /** What counts towards restrictions, by those who sent any of it. */
  readonly restrictions: readonly SuggestedRestriction[];
  /** Buckets on which no request drew. */
  readonly unused: readonly string[];
  readonly log: LogReport;
  /** Draws on a limit that had no room to be measured. */
  readonly unmeasured: number;
  readonly unanswered: readonly Unanswered[];
}

/** One limit, for the callers of one class. */
export interface SuggestedLimit {
  /** The bucket; `null` for the global limit. */
  readonly bucket: string | null;
  /** `resource`: all callers together. */
  readonly class: CallerClass | 'resource';
  readonly algorithm: 'fixed' | 'smooth';
  readonly periodMs: number;
  readonly requests: number;
  /** Requests that this limit refused when the log was written. They count as demand. */
  readonly refused: number;
  /** Callers, or for `resource` values of the main parameter. */
  readonly callers: number;
  readonly needs: Needs;
  /** The number in the file, and the callers who need more. */
  readonly now: number;
  readonly callersOverNow: number;
  /** The number to set; `null` if there are too few callers for the percentile that was asked for. */
  readonly suggested: number | null;
}

/** The rule of a restriction, for its senders of one kind. */
export interface SuggestedRestriction {
  readonly rule: MeasuredOffences['rule'];
  readonly by: MeasuredOffences['by'];
  readonly periodMs: number;
  readonly requests: number;
  /** Senders of any request that counts. */
  readonly senders: number;
  readonly needs: Needs;
  readonly now: number;
  readonly sendersOverNow: number;
  /** The number to set; `null` if the rule does not restrict them, or there are too few. */
  readonly suggested: number | null;
}

export interface SuggestOptions {
  readonly store: 'memory' | 'redis';
  readonly percentile: Percentile;
  readonly headroomPercent: number;
}

export function suggestLimits(
  measured: MeasuredLogs,
  limits: LimitsModel,
  patterns: readonly RoutePattern[],
  { store, percentile, headroomPercent }: SuggestOptions,
): Suggestion {
  const order = [null, ...limits.buckets.map(({ name }) => name)];
  const used = new Set(measured.rows.map(({ bucket }) => bucket));
  const rows = measured.rows.toSorted((a, b) => order.indexOf(a.bucket) - order.indexOf(b.bucket));
  return {
    from: new Date(measured.startMs).toISOString(),
    to: new Date(measured.endMs).toISOString(),
    ...{ requests: measured.requests, percentile, headroomPercent, unmeasured: measured.unmeasured },
    limits: rows
      .filter(({ requests }) => requests > 0)
      .map(row => suggestionOf(row, percentile, headroomPercent)),
    restrictions: measured.offences.map(row => restrictionOf(row, percentile, headroomPercent)),
    unused: order.filter(name => name !== null && !used.has(name)).map(String),
    log: logReportOf(measured, store),
    unanswered: findUnanswered(patterns, measured.shapes),
  };
}

/** What the picture of a suggestion shows: each limit, and each rule that restricts. */
export function panelsOf(measured: MeasuredLogs, { limits, restrictions }: Suggestion): NeedPanel[] {
  const ofLimits = limits.flatMap(({ bucket, class: callerClass, periodMs, suggested, now }) => {
    const row = measured.rows.find(each => each.bucket === bucket && each.callerClass === callerClass);
    const title = `${bucket ?? 'global limit'}, ${callerClass}, in ${formatDuration(periodMs)}`;
    return row === undefined ? [] : [{ title, needs: row.demand.needs, suggested, now }];
  });
  const ofRules = restrictions.flatMap(({ rule, by, periodMs, suggested, now }) => {
    const row = measured.offences.find(each => each.rule === rule && each.by === by);
    const title = `${rule}, ${by}, in ${formatDuration(periodMs)}`;
    return row === undefined || suggested === null
      ? []
      : [{ title, needs: row.demand.needs, suggested, now }];
  });
  return [...ofLimits, ...ofRules];
}

function suggestionOf(row: Measured, percentile: Percentile, headroomPercent: number): SuggestedLimit {
  const { limit, needs: sorted } = row.demand;
  const needs = needsOf(sorted);
  const suggested = withHeadroom(needs[percentile], headroomPercent);
  return {
    ...{ bucket: row.bucket, class: row.callerClass, periodMs: limit.periodMs },
    algorithm: limit.algorithm === 'smooth' ? 'smooth' : 'fixed',
    ...{ requests: row.requests, refused: row.refused, callers: sorted.length },
    needs,
    now: limit.units,
    callersOverNow: countOver(sorted, limit.units),
    suggested,
  };
}

function restrictionOf(
  { rule, by, demand, requests }: MeasuredOffences,
  percentile: Percentile,
  headroomPercent: number,
): SuggestedRestriction {
  const { limit, needs: sorted } = demand;
  const needs = needsOf(sorted);
  const isRestricted = by === 'address' || by === 'webhook';
  return {
    ...{ rule, by, periodMs: limit.periodMs, requests, senders: sorted.length, needs },
    now: limit.units,
    sendersOverNow: countOver(sorted, limit.units),
    suggested: isRestricted ? withHeadroom(needs[percentile], headroomPercent) : null,
  };
}

/** `sorted`: ascending. */
function needsOf(sorted: Uint32Array): Needs {
  const atMost = (percent: Percentile) =>
    sorted.length < FEWEST_CALLERS[percent]
      ? null
      : (sorted[Math.max(0, Math.ceil((sorted.length * Number(percent)) / 100) - 1)] ?? 0);
  const needs = Object.fromEntries(PERCENTILES.map(percent => [percent, atMost(percent)] as const));
  return needs as Record<Percentile, number | null>;
}

function withHeadroom(units: number | null, headroomPercent: number): number | null {
  if (units === null) return null;
  return Math.min(MAX_UNITS, Math.max(1, Math.ceil((units * (100 + headroomPercent)) / 100)));
}

function countOver(sorted: Uint32Array, units: number): number {
  return sorted.reduce((over, need) => over + (need > units ? 1 : 0), 0);
}
