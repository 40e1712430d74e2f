import type { LimitsModel } from '../../config/index.ts';
import type { RoutePattern } from '../../config/routing/index.ts';
import { MAX_UNITS, windowName } from '../../limits/index.ts';
import type { MeasuredOffences } from './demand.ts';
import type { NeedPanel } from './draw-needs.ts';
import type { Measured, MeasuredLogs } from './measure-logs.ts';
import { findUnanswered, logReportOf } from './report.ts';

export const PERCENTILES = ['50', '95', '99', '99.9', '100'] as const;
export type Percentile = (typeof PERCENTILES)[number];

/** Minimum callers for a meaningful percentile: with fewer, it would be the value of a single caller. */
export const FEWEST_CALLERS: Readonly<Record<Percentile, number>> = {
  50: 2,
  95: 20,
  99: 100,
  '99.9': 1_000,
  100: 1,
};

/** For each percentile, the number of requests in a period that its callers never exceed; null if there are too few callers. */
export type Needs = Readonly<Record<Percentile, number | null>>;

export type Suggestion = ReturnType<typeof suggestLimits>;
/** One limit, for the callers of one class. */
export type SuggestedLimit = ReturnType<typeof suggestionOf>;
/** A rule that restricts, for senders of one kind. */
export type SuggestedRestriction = ReturnType<typeof restrictionOf>;

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
) {
  const order = [null, ...limits.buckets.map(({ name }) => name)];
  const used = new Set(measured.rows.map(({ bucket }) => bucket));
  const rows = measured.rows.toSorted((a, b) => order.indexOf(a.bucket) - order.indexOf(b.bucket));
  return {
    from: new Date(measured.startMs).toISOString(),
    to: new Date(measured.endMs).toISOString(),
    requests: measured.requests,
    percentile,
    headroomPercent,
    unmeasured: measured.unmeasured,
    limits: fitting(
      rows.filter(({ requests }) => requests > 0).map(row => suggestionOf(row, percentile, headroomPercent)),
      limits,
    ),
    restrictions: measured.offences.map(row => restrictionOf(row, percentile, headroomPercent)),
    unused: order.filter(name => name !== null && !used.has(name)).map(String),
    log: logReportOf(measured, store),
    unanswered: findUnanswered(patterns, measured.shapes),
  };
}

/** The panels of the picture: one for each limit, and one for each rule that restricts. */
export function panelsOf(measured: MeasuredLogs, { limits, restrictions }: Suggestion): NeedPanel[] {
  const ofLimits = limits.flatMap(({ bucket, class: callerClass, part, at, period, suggested, now }) => {
    const row = measured.rows.find(
      each =>
        each.bucket === bucket && each.callerClass === callerClass && each.part === part && each.at === at,
    );
    const who = part === null ? callerClass : `${callerClass} (${part})`;
    const title = `${bucket ?? 'global limit'}, ${who}, in ${period}`;
    return row === undefined ? [] : [{ title, needs: row.demand.needs, suggested, now }];
  });
  const ofRules = restrictions.flatMap(({ rule, by, period, suggested, now }) => {
    const row = measured.offences.find(each => each.rule === rule && each.by === by);
    const title = `${rule}, ${by}, in ${period}`;
    return row === undefined || suggested === null
      ? []
      : [{ title, needs: row.demand.needs, suggested, now }];
  });
  return [...ofLimits, ...ofRules];
}

/** `suggested`: the number to set; `null` if there are too few callers for the requested percentile. */
function suggestionOf(row: Measured, percentile: Percentile, headroomPercent: number) {
  const { limit, needs: sorted } = row.demand;
  const needs = needsOf(sorted);
  return {
    claim: row.part === null ? null : limit.claim,
    part: row.part,
    highestSaid: row.highestSaid,
    bucket: row.bucket,
    class: row.callerClass,
    at: row.at,
    periodMs: limit.periodMs,
    period: windowName(limit),
    algorithm: limit.algorithm === 'smooth' ? ('smooth' as const) : ('fixed' as const),
    requests: row.requests,
    refused: row.refused,
    callers: sorted.length,
    needs,
    now: limit.units,
    callersOverNow: countOver(sorted, limit.units),
    suggested: withHeadroom(needs[percentile], headroomPercent, limit.largestCost),
  };
}

/**
 * Makes the numbers next to a claim consistent with each other, and with the ones that stay in the file: `otherwise` must not
 * exceed `max`.
 */
function fitting(limits: readonly SuggestedLimit[], { buckets }: LimitsModel): SuggestedLimit[] {
  return limits.map(limit => {
    const { bucket, class: callerClass, part, suggested } = limit;
    if (part === null || suggested === null) return limit;
    const set = buckets.find(({ name }) => name === bucket)?.sets.of(callerClass);
    const { units = 0, maxUnits = MAX_UNITS } = set?.caller ?? set?.shadow?.caller ?? {};
    if (part === 'otherwise') return { ...limit, suggested: Math.min(suggested, maxUnits) };
    const otherwise = limits.find(
      each => each.bucket === bucket && each.class === callerClass && each.part === 'otherwise',
    );
    const least = Math.min(otherwise?.suggested ?? units, maxUnits);
    return { ...limit, suggested: Math.max(suggested, least) };
  });
}

function restrictionOf(
  { rule, by, demand, requests }: MeasuredOffences,
  percentile: Percentile,
  headroomPercent: number,
) {
  const { limit, needs: sorted } = demand;
  const needs = needsOf(sorted);
  const isRestricted = by === 'address' || by === 'webhook';
  return {
    rule,
    by,
    periodMs: limit.periodMs,
    period: windowName(limit),
    requests,
    senders: sorted.length,
    needs,
    now: limit.units,
    sendersOverNow: countOver(sorted, limit.units),
    suggested: isRestricted ? withHeadroom(needs[percentile], headroomPercent) : null,
  };
}

/** Returns the needs at each percentile. `sorted`: ascending. */
function needsOf(sorted: Uint32Array): Needs {
  const atMost = (percent: Percentile) =>
    sorted.length < FEWEST_CALLERS[percent]
      ? null
      : (sorted[Math.max(0, Math.ceil((sorted.length * Number(percent)) / 100) - 1)] ?? 0);
  const needs = Object.fromEntries(PERCENTILES.map(percent => [percent, atMost(percent)] as const));
  return needs as Record<Percentile, number | null>;
}

/** @param least the maximum cost of one request */
function withHeadroom(units: number | null, headroomPercent: number, least = 1): number | null {
  if (units === null) return null;
  return Math.min(MAX_UNITS, Math.max(least, Math.ceil((units * (100 + headroomPercent)) / 100)));
}

function countOver(sorted: Uint32Array, units: number): number {
  return sorted.reduce((over, need) => over + (need > units ? 1 : 0), 0);
}
