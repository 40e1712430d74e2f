import { formatDuration } from '../../core/index.ts';
import { CALENDAR_MS, CALENDAR_UNITS, type CalendarUnit } from './calendar.ts';

/** An allowed number per period. */
export interface Quota {
  /** Units in one period, 1 to 1,000,000,000. */
  readonly units: number;
  /** Whole seconds, 1 s to 31 days, in milliseconds. */
  readonly periodMs: number;
  /** The period is one of the calendar, and `periodMs` how long it is at most. Absent for a window that the first request opens. */
  readonly calendar?: CalendarUnit | undefined;
  /** `cost`: this quota counts what requests cost. Absent: it counts requests. */
  readonly unit?: 'cost' | undefined;
  /** The further quotas of a list, each of another period or unit: a request takes of all or of none. */
  readonly more?: readonly Quota[] | undefined;
}

/** Maximum quotas in a list. */
export const MAX_LIST = 4;

/** The quotas of a list, as written. */
export function quotasOf(quota: Quota): readonly Quota[] {
  const { more = [], ...first } = quota;
  return [first, ...more];
}

/** A quota whose number the caller's token may set. `units` is for tokens that do not. */
export interface ClaimedQuota extends Quota {
  readonly claim: string;
  readonly maxUnits: number;
}

export function isClaimed(quota: Quota): quota is ClaimedQuota {
  return 'claim' in quota;
}

/** Thrown if a text is not a quota; the message says what to write instead. */
export class QuotaError extends Error {
  override readonly name = 'QuotaError';
}

/** The most units of a quota: a counter keeps them in 30 bits. */
export const MAX_UNITS = 1_000_000_000;
/** The most that all clients can keep of `X-RateLimit-Limit`: 16 bits. */
export const MAX_COMMON_UNITS = 65_535;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_PERIOD_MS = 31 * 86_400_000;

/**
 * Reads `N/P`: N from 1 to 1,000,000,000, P from 1s to 31d in whole seconds, minutes, hours or days, or one of the calendar: day,
 * week or month. Throws a QuotaError.
 */
export function parseQuota(text: string): Quota {
  return read(text) ?? fail(text, adviceFor(text, ', or day, week or month'));
}

/** Reads the same, but for periods of the calendar, by which only limits count. Throws a QuotaError. */
export function parseRate(text: string): Quota {
  const quota = read(text);
  if (quota?.calendar === undefined) return quota ?? fail(text, adviceFor(text, ''));
  const window = `${quota.units}/${formatPeriod({ periodMs: quota.periodMs })}`;
  return fail(text, `only limits count by the calendar: write a window such as ${window}`);
}

function read(text: string): Quota | null {
  const [, number = '', count = '', unit = ''] =
    /^([1-9]\d{0,9})\/(?:([1-9]\d{0,6})([smhd])|day|week|month)$/.exec(text) ?? [];
  const units = Number(number);
  if (number === '' || units > MAX_UNITS) return null;
  const calendar = CALENDAR_UNITS.find(each => text.endsWith(`/${each}`));
  if (calendar !== undefined) return { units, periodMs: CALENDAR_MS[calendar], calendar };
  const periodMs = Number(count) * (UNIT_MS[unit] ?? 0);
  return periodMs > MAX_PERIOD_MS ? null : { units, periodMs };
}

/**
 * Says what to write in place of `5 / 5s`, `5/s`, `5/2min` or `5/weekly`, else what is expected.
 *
 * @param calendar how the message names periods of the calendar; empty if they are not allowed
 */
function adviceFor(text: string, calendar: string): string {
  const compact = text.replaceAll(/\s/g, '').toLowerCase();
  const [, units = '', count = '', unit = ''] = /^(\d+)\/(\d*)([a-z]+)$/.exec(compact) ?? [];
  const isWord = /^(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)$/.test(unit);
  const inLetters = isWord ? `${units}/${count || '1'}${unit.charAt(0)}` : '';
  const inWords = `${units}/${count}${unit.replace(/^(week|month).*/, '$1')}`;
  const isAllowed = (quota: Quota | null) => quota !== null && (calendar !== '' || !quota.calendar);
  const meant = [compact, inLetters, inWords].find(each => isAllowed(read(each)));
  if (meant !== undefined) return `write ${meant}`;
  return `write a number from 1 to ${MAX_UNITS} and a period from 1s to 31d${calendar}, such as 5/5s or 100/10m`;
}

/** Writes a period as `parseQuota` reads it: `5s`, `30d` or `month`. */
export function formatPeriod({ periodMs, calendar }: Pick<Quota, 'periodMs' | 'calendar'>): string {
  if (calendar !== undefined) return calendar;
  const days = periodMs / 86_400_000;
  return Number.isInteger(days) && days > 1 ? `${days}d` : formatDuration(periodMs);
}

/** Says a quota in words: `5 in 5s`, or `5 in 1s and a cost of 1000 a day`. */
export function quotaInWords(quota: Quota): string {
  return quotasOf(quota)
    .map(each => {
      const period = `${each.calendar === undefined ? 'in' : 'a'} ${formatPeriod(each)}`;
      return `${each.unit === undefined ? '' : 'a cost of '}${each.units} ${period}`;
    })
    .join(' and ');
}

/** Names a quota of a list: by its period, and by its unit unless that is a request. */
export function windowName({
  period,
  unit,
}: {
  readonly period: string;
  readonly unit?: 'cost' | undefined;
}): string {
  return unit === undefined ? period : `${period}/${unit}`;
}

function fail(text: string, advice: string): never {
  const shown = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  throw new QuotaError(`"${shown}" is not a quota: ${advice}`);
}
