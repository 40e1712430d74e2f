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

/** The most quotas of a list. */
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
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const MAX_PERIOD_S = 31 * 86_400;
const EXAMPLE = 'a quota is a number and a period, for example 5/5s, 100/10m or 1000/day';

/**
 * Reads `N/P`: N from 1 to 1,000,000,000, P from 1s to 31d in whole seconds, minutes, hours or days, or one of the calendar: day,
 * week or month. Throws a QuotaError.
 */
export function parseQuota(text: string): Quota {
  const compact = text.replaceAll(/\s/g, '');
  if (compact !== text && isQuota(compact)) fail(text, `write it without spaces: ${compact}`);
  const parts = text.split('/');
  const [number = '', period = ''] = parts;
  if (parts.length !== 2 || number === '' || period === '') fail(text, adviceFor(text));
  const units = parseUnits(number, text);
  const calendar = CALENDAR_UNITS.find(unit => unit === period);
  if (calendar !== undefined) return { units, periodMs: CALENDAR_MS[calendar], calendar };
  return { units, periodMs: parsePeriodSeconds(period, text) * 1_000 };
}

/** Reads the same, but for periods of the calendar, by which only limits count. Throws a QuotaError. */
export function parseRate(text: string): Quota {
  const [units = '', period = ''] = text.split('/');
  const calendar = calendarMeantBy(period);
  if (calendar === undefined) return parseQuota(text);
  const window = `${units}/${formatPeriod({ periodMs: CALENDAR_MS[calendar] })}`;
  if (!isQuota(window)) return parseQuota(window);
  return fail(text, `only limits count by the calendar: write a window such as ${window}`);
}

/** The period of the calendar that a word means: `week`, `1week` or `weekly`. */
function calendarMeantBy(period: string): CalendarUnit | undefined {
  const form = /^1?(?:(days?|daily)|(w|wks?|weeks?|weekly)|(mo|months?|monthly))$/i;
  const [, ...found] = form.exec(period) ?? [];
  return CALENDAR_UNITS[found.findIndex(word => word !== undefined)];
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

/** Says what to write in place of `10r/m`, `1k/day`, `1,000/day`, `100 per day` or `off`; an example in place of anything else. */
function adviceFor(text: string): string {
  if (NO_LIMIT.test(text))
    return 'where no limit should hold, write one that nobody reaches, such as 1000000/1s';
  const form = /^(\d[\d,_']*)([km]?)(?:r| ?req| ?requests?)? ?(?:\/|per|a|every) ?(\w+)$/i;
  const [, digits = '', factor = '', period = ''] = form.exec(text) ?? [];
  if (period === '') return EXAMPLE;
  const number = Number(digits.replaceAll(/[,_']/g, '')) * (FACTORS[factor.toLowerCase()] ?? 1);
  const periods = [period, `1${period}`, `1${period.charAt(0).toLowerCase()}`];
  const meant = periods.map(each => `${number}/${each}`).find(isQuota);
  return meant === undefined ? EXAMPLE : `write ${meant}`;
}

/** What people write where they want no limit. */
const NO_LIMIT = /^(?:-1|off|no|none|false|disabled|inf|infinite|infinity|unlimited|no ?limit)(?:\/|$)/i;

const FACTORS: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 };

function isQuota(text: string): boolean {
  try {
    parseQuota(text);
    return true;
  } catch {
    return false;
  }
}

function parseUnits(number: string, text: string): number {
  if (!/^\d+$/.test(number))
    fail(text, `"${number}" is not a whole number from 1 to ${MAX_UNITS}: ${adviceFor(text)}`);
  const units = Number(number);
  if (units === 0) fail(text, 'write at least 1 (to switch a route off, take it out of gateway.yaml)');
  if (units > MAX_UNITS) fail(text, `write at most ${MAX_UNITS}, over a shorter period if it has to be more`);
  if (number !== String(units)) fail(text, `write ${units} without leading zeros`);
  return units;
}

function parsePeriodSeconds(period: string, text: string): number {
  const [, number = '', unit = ''] = /^([\d.]*)(.*)$/.exec(period) ?? [];
  const unitSeconds = UNIT_SECONDS[unit];
  if (unitSeconds === undefined) fail(text, suggestUnit(text, number, unit));
  if (number === '') fail(text, `write ${text.replace('/', '/1')}`);
  if (!/^\d+$/.test(number))
    fail(text, 'periods are whole seconds, minutes, hours or days: 90s for one minute and a half');
  const seconds = Number(number) * unitSeconds;
  if (seconds === 0) fail(text, 'the shortest period is 1s');
  if (seconds > MAX_PERIOD_S) fail(text, 'the longest period is 31d or month');
  if (number !== String(Number(number)))
    fail(text, `write the period without leading zeros: ${Number(number)}${unit}`);
  return seconds;
}

function suggestUnit(text: string, number: string, unit: string): string {
  if (unit === '') return suggestUnits(text);
  if (unit === 'ms') return 'the shortest period is 1s: write whole seconds';
  if (ENDLESS.test(unit)) return 'the longest period is 31d or month: a quota always renews';
  const letter = unit.charAt(0).toLowerCase();
  const calendar = calendarMeantBy(number + unit);
  if (calendar !== undefined && (calendar !== 'day' || /^day$|ly$/i.test(number + unit)))
    return `write ${text.split('/')[0]}/${calendar}`;
  const known = /^(s|sec|secs|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)$/i.test(unit);
  const instead = `${text.split('/')[0]}/${number === '' ? '1' : number}${letter}`;
  return known && isQuota(instead) ? `write ${instead}` : PERIODS;
}

/** What people write for periods that are too long, and for a number that is never renewed. */
const ENDLESS = /^(y|yrs?|years?|yearly|annual(ly)?|quarters?|quarterly|never|ever|lifetime|total)$/i;
const PERIODS = 'a period ends in s, m, h or d, at most 31d, or is day, week or month';

/** Suggests the same with each unit that makes it a period. */
function suggestUnits(text: string): string {
  const sound = ['s', 'm', 'h', 'd'].map(unit => text + unit).filter(isQuota);
  const [last, ...others] = sound.reverse();
  if (last === undefined) return PERIODS;
  const list = others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`;
  return `the period lacks its unit: write ${list}`;
}

function fail(text: string, advice: string): never {
  const shown = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  throw new QuotaError(`"${shown}" is not a quota: ${advice}`);
}
