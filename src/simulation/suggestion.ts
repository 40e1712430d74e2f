import type { CallerClass, LimitsModel } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import type { RoutePattern } from '../routing/index.ts';
import type { NeedPanel } from './draw-needs.ts';
import { type LogReport, logReportOf } from './log-report.ts';
import type { Measured, MeasuredLogs } from './measure-logs.ts';
import { findUnanswered, type Unanswered } from './unanswered.ts';

/** The shares of callers that are told, in percent. */
export const PERCENTILES = ['50', '95', '99', '99.9', '100'] as const;
export type Percentile = (typeof PERCENTILES)[number];

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
  /** Buckets on which no request drew. */
  readonly unused: readonly string[];
  readonly log: LogReport;
  /** Draws on a limit that had no room to be measured. */
  readonly unmeasured: number;
  readonly unanswered: readonly Unanswered[];
}

/** One limit, for the callers of one class. */
export interface SuggestedLimit {
  /** Null: the global limit. */
  readonly bucket: string | null;
  /** `resource`: all callers together. */
  readonly class: CallerClass | 'resource';
  readonly algorithm: 'fixed' | 'smooth';
  readonly periodMs: number;
  readonly requests: number;
  /** By this limit, when the log was written. They count as demand. */
  readonly refused: number;
  /** Callers, or for `resource` values of the main parameter. */
  readonly callers: number;
  /** The number that so many percent of the callers never exceed in a period. */
  readonly needs: Readonly<Record<Percentile, number>>;
  /** The number in the file, and the callers who need more. */
  readonly now: number;
  readonly callersOverNow: number;
  readonly suggested: number;
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
    unused: order.filter(name => name !== null && !used.has(name)).map(String),
    log: logReportOf(measured, store),
    unanswered: findUnanswered(patterns, measured.shapes),
  };
}

/** What the picture of a suggestion shows. */
export function panelsOf({ rows }: MeasuredLogs, { limits }: Suggestion): NeedPanel[] {
  return limits.flatMap(({ bucket, class: callerClass, periodMs, suggested, now }) => {
    const row = rows.find(each => each.bucket === bucket && each.callerClass === callerClass);
    const title = `${bucket ?? 'global limit'}, ${callerClass}, in ${formatDuration(periodMs)}`;
    return row === undefined ? [] : [{ title, needs: row.demand.needs, suggested, now }];
  });
}

function suggestionOf(row: Measured, percentile: Percentile, headroomPercent: number): SuggestedLimit {
  const { limit, needs: sorted } = row.demand;
  const atMost = (percent: Percentile) =>
    sorted[Math.max(0, Math.ceil((sorted.length * Number(percent)) / 100) - 1)] ?? 0;
  const needs = Object.fromEntries(PERCENTILES.map(percent => [percent, atMost(percent)] as const));
  const suggested = Math.ceil((atMost(percentile) * (100 + headroomPercent)) / 100);
  return {
    ...{ bucket: row.bucket, class: row.callerClass, periodMs: limit.periodMs },
    algorithm: limit.algorithm === 'smooth' ? 'smooth' : 'fixed',
    ...{ requests: row.requests, refused: row.refused, callers: sorted.length },
    needs: needs as Record<Percentile, number>,
    now: limit.units,
    callersOverNow: sorted.reduce((over, units) => over + (units > limit.units ? 1 : 0), 0),
    suggested: Math.min(MAX_UNITS, Math.max(1, suggested)),
  };
}
