import { z } from 'zod';
import { parseDurationMs } from '../../core/index.ts';
import {
  type ClaimedQuota,
  formatPeriod,
  MAX_LIST,
  parseQuota,
  parseRate,
  type Quota,
  QuotaError,
  windowName,
} from '../../limits/index.ts';
import { isMap } from '../file/index.ts';
import { QUOTA_OR_OFF_PATTERN, QUOTA_PATTERN, RATE_OR_OFF_PATTERN, RATE_PATTERN } from './patterns.ts';
import { text, withDefault } from './plain-values.ts';
import { refuse, refuseQuoting, textOfForm } from './refuse.ts';

/** A kind of number with a unit: how messages name it, its form, and how it is read. */
interface Quantity {
  readonly name: string;
  readonly examples: string;
  readonly form: RegExp;
  parse(text: string): number | undefined;
}

const TIME: Quantity = {
  name: 'a time',
  examples: 'such as 250ms, 5s, 10m or 1h',
  form: /\d{1,9}(ms|s|m|h)/,
  parse: parseDurationMs,
};
const SIZE: Quantity = {
  name: 'a size',
  examples: 'such as 512B, 64KiB or 10MiB',
  form: /\d{1,9}(B|KiB|MiB|GiB)/,
  parse: parseSizeBytes,
};

/** The range of a quantity, and its default. */
interface Range<Otherwise> {
  readonly min?: string;
  readonly max?: string;
  readonly otherwise?: Otherwise;
}

function within({ parse }: Quantity, text: string, min: string, max: string): number | undefined {
  const [value, least = 0, most = 0] = [text, min, max].map(parse);
  return value !== undefined && value >= least && value <= most ? value : undefined;
}

function quantity(kind: Quantity, min: string, max: string) {
  const form = new RegExp(`^${kind.form.source}$`);
  return textOfForm(`expected ${kind.name} ${kind.examples}`, form, (text, context) => {
    const value = within(kind, text, min, max);
    return value ?? refuse(context, `expected ${kind.name} from ${min} to ${max}`);
  });
}

/** @param off the value that the word off is read as */
function quantityOrOff<Off>(
  kind: Quantity,
  off: Off,
  error: string,
  { min = '1ms', max = '24h' }: Range<string>,
) {
  return textOfForm(error, new RegExp(`^(off|${kind.form.source})$`), (text, context) => {
    if (text === 'off') return off;
    return (
      within(kind, text, min, max) ?? refuse(context, `expected off, or ${kind.name} from ${min} to ${max}`)
    );
  });
}

/** A time such as `250ms`, read as milliseconds. A day at most: beyond 31 bits, Node's timers fire immediately. */
export function duration<Otherwise extends string | undefined = undefined>({
  min = '1ms',
  max = '24h',
  otherwise,
}: Range<Otherwise> = {}) {
  return withDefault(quantity(TIME, min, max), otherwise as Otherwise);
}

/** `off`, read as null, or a time read as milliseconds. */
export function durationOrOff(range: Range<string> & { readonly otherwise: string }) {
  const error = `expected off, or ${TIME.name} ${TIME.examples}`;
  return quantityOrOff(TIME, null, error, range).prefault(range.otherwise);
}

/** A size such as `16KiB`, read as bytes. */
export function size({ min, max, otherwise }: Required<Range<string>>) {
  return quantity(SIZE, min, max).prefault(otherwise);
}

/** `off`, read as 0, or a size such as `16KiB`, read as bytes. */
export function sizeOrOff(range: Required<Range<string>>) {
  const error = `expected off or ${SIZE.name} ${SIZE.examples}`;
  return quantityOrOff(SIZE, 0, error, range).prefault(range.otherwise);
}

/** `none`, read as null, or a size read as bytes. */
export function sizeOrNone(otherwise: string) {
  const error = `expected none or ${SIZE.name} ${SIZE.examples}`;
  return textOfForm(error, new RegExp(`^(none|${SIZE.form.source})$`), (text, context) => {
    if (text === 'none') return null;
    return parseSizeBytes(text) ?? refuse(context, 'expected a smaller size');
  }).prefault(otherwise);
}

/** A percentage such as `25%`, read as a number. */
export function percentage(otherwise: string) {
  const error = 'expected a percentage from 1% to 100%';
  return textOfForm(error, /^([1-9]\d?|100)%$/, text => Number(text.slice(0, -1))).prefault(otherwise);
}

/** A share such as `10%` or `0.5%`, read as a number from 0 to 1. */
export function shareOfCallers() {
  const error = 'expected a percentage from 0% to 100%, such as 10% or 0.5%';
  const form = /^(100(\.0{1,4})?|\d{1,2}(\.\d{1,4})?)%$/;
  return textOfForm(error, form, text => Number(text.slice(0, -1)) / 100);
}

/** `off`, read as null, or a rate such as `240B/s`, read as bytes per second. */
export function rateOrOff<Otherwise extends string | undefined = undefined>(otherwise?: Otherwise) {
  const error = 'expected off, or a rate such as 240B/s or 4KiB/s';
  const schema = textOfForm(error, new RegExp(`^(off|${SIZE.form.source}/s)$`), (text, context) => {
    if (text === 'off') return null;
    const bytes = parseSizeBytes(text.slice(0, -'/s'.length)) ?? 0;
    return bytes > 0 ? bytes : refuse(context, error);
  });
  return withDefault(schema, otherwise as Otherwise);
}

/** A date and time such as the example, or Unix seconds as text, read as milliseconds since the epoch. */
export function dateTime(example: string) {
  const error = `expected a moment such as ${example}`;
  return z.string({ error }).transform((text, context) => {
    const seconds = parseMomentS(text);
    return seconds === undefined ? refuse(context, error) : seconds * 1_000;
  });
}

/** `none`, read as 0, or a date and time read as seconds since the epoch. Unix seconds may also be a number. */
export function momentOrNone() {
  const error = 'expected none, a moment such as 2026-01-31T12:00:00Z, or Unix seconds';
  const written = z
    .string({ error })
    .regex(/^(none|\d{1,12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d))$/, { error, abort: true });
  return z.union([written, z.int({ error })], { error }).transform((value, context) => {
    if (value === 'none') return 0;
    return parseMomentS(String(value)) ?? refuse(context, error);
  });
}

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Parses a size (`512B`, `64KiB`, `10MiB`, `1GiB`) into bytes. Returns undefined for anything else. */
export function parseSizeBytes(text: string): number | undefined {
  const match = /^(\d{1,9})(B|KiB|MiB|GiB)$/.exec(text);
  if (match === null) return undefined;
  const bytes = Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats bytes in the largest unit without a fraction: `512B`, `64KiB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  while (bytes >= 1024 && bytes % 1024 === 0 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  return `${bytes}${units[unit]}`;
}

/** Formats bytes per second as `rateOrOff` reads them: `240B/s`, or `off`. */
export function formatRate(bytesPerS: number | null): string {
  return bytesPerS === null ? 'off' : `${formatSize(bytesPerS)}/s`;
}

/** A quota such as `20/5s`. */
function quota() {
  return z
    .string({ error: QUOTA })
    .meta({ pattern: QUOTA_PATTERN })
    .transform((text, context) => readQuota(text, context));
}

/** A quota such as `20/5s`, or a list of up to four. */
export function quotas() {
  return z.union([quota(), listOfQuotas(quota())], { error: QUOTA_OR_LIST });
}

/** As `quotas`, for a bucket, which may also count what requests cost. */
export function bucketQuotas() {
  return z.union([quota(), listOfBucketQuotas(), costQuota()], { error: costOrList });
}

/** A quota that counts what requests cost: a map with a key for that. */
function costQuota() {
  return z
    .strictObject(
      {
        limit: quota().describe('The most that all requests of a period may cost: 200000/day.'),
        unit: z
          .literal('cost', { error: 'expected cost: a quota of requests is written alone, as 20/5s' })
          .describe(
            'cost: what requests cost counts here alone; every other quota of the bucket counts requests.',
          ),
      },
      { error: COST_EXPECTED },
    )
    .transform(({ limit, unit }): Quota => ({ ...limit, unit }));
}

function listOfBucketQuotas() {
  return listOfQuotas(z.union([quota(), costQuota()], { error: costOrList }));
}

function costOrList({ input }: { readonly input?: unknown }): string {
  return isMap(input) ? COST_EXPECTED : QUOTA_OR_LIST;
}

/** Quotas of different periods, or of different units. */
function listOfQuotas<Each extends z.ZodType<Quota>>(each: Each) {
  return z
    .array(each, { error: QUOTA_OR_LIST })
    .min(1, { error: QUOTA_OR_LIST })
    .max(MAX_LIST, { error: `a list has at most ${MAX_LIST} quotas` })
    .transform((list, context): Quota => {
      const [first, ...more] = list;
      const names = list.map(each => windowName({ period: formatPeriod(each), unit: each.unit }));
      const again = names.findIndex((name, at) => names.indexOf(name) < at);
      if (again >= 0)
        context.addIssue({
          code: 'custom',
          path: [again],
          message: `another quota of this list has this period: ${names[again]}`,
        });
      if (first === undefined) return z.NEVER;
      return more.length === 0 ? first : { ...first, more };
    });
}

/** How often something may happen, such as `10000/10m`: a quota whose period is not a calendar period. */
export function rate() {
  return z
    .string({ error: QUOTA })
    .meta({ pattern: RATE_PATTERN })
    .transform((text, context) => readQuota(text, context, parseRate));
}

/** `off`, read as null, or a quota whose period is not a calendar period. */
export function quotaRateOrOff() {
  return z
    .string({ error: 'expected off, or a number and a period such as 1000/1m' })
    .meta({ pattern: RATE_OR_OFF_PATTERN })
    .transform((text, context) => (text === 'off' ? null : readQuota(text, context, parseRate)));
}

/** `off`, read as null, a quota such as `1000/1m`, or a list of up to four. */
export function quotasOrOff<Otherwise extends string | undefined = undefined>(otherwise?: Otherwise) {
  const error = 'expected off, or a number and a period such as 1000/1m';
  const one = z
    .string({ error })
    .meta({ pattern: QUOTA_OR_OFF_PATTERN })
    .transform((text, context) => (text === 'off' ? null : readQuota(text, context)));
  return withDefault(z.union([one, listOfQuotas(quota())], { error }), otherwise as Otherwise);
}

/** A quota such as `20/5s`, or a map with the claim that sets its number. */
export function claimedQuota() {
  const map = z
    .strictObject({
      claim: text('expected the name of a claim such as rate').describe(
        'The claim of the token that is the number of requests in the period of max.',
      ),
      max: quota().describe('The most that the claim may say, and its period: 500/10s.'),
      otherwise: quota().describe(
        'The quota where the token has no such claim, or one that is not an integer from 1 on. With the same period.',
      ),
    })
    .transform(({ claim, max, otherwise }, context): ClaimedQuota => {
      const period = formatPeriod(max);
      const message =
        period !== formatPeriod(otherwise)
          ? `its period must be that of max: write ${Math.min(otherwise.units, max.units)}/${period}`
          : `a token without the claim would have more than max allows any other: write at most ${max.units}/${period}, or raise max`;
      if (period !== formatPeriod(otherwise) || otherwise.units > max.units)
        context.addIssue({ code: 'custom', path: ['otherwise'], message });
      return { ...otherwise, claim, maxUnits: max.units };
    });
  return z.union([quota(), listOfBucketQuotas(), map, costQuota()], {
    error: ({ input }) =>
      typeof input === 'object' ? `${QUOTA}, or a map such as ${CLAIMED_QUOTA} or ${COST_QUOTA}` : QUOTA,
  });
}

const QUOTA = 'expected a number and a period such as 20/5s';
const QUOTA_OR_LIST = `${QUOTA}, or a list such as [5/1s, 1000/day]`;
const CLAIMED_QUOTA = '{ claim: rate, max: 500/10s, otherwise: 50/10s }';
const COST_QUOTA = '{ limit: 200000/day, unit: cost }';
const COST_EXPECTED = `${QUOTA}, or a map such as ${COST_QUOTA}`;

function readQuota(text: string, context: z.RefinementCtx, parse = parseQuota): Quota {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof QuotaError)) throw error;
    refuseQuoting(context, error.message, 'a number and a period such as 20/5s');
    return z.NEVER;
  }
}

/** The last second of the year 9999: anything larger was meant as milliseconds. */
const MAX_SECONDS = 253_402_300_799;

/**
 * Parses a date and time into seconds since the epoch: RFC 3339 with whole seconds (`2026-01-31T12:00:00Z`, `...+01:00`), or Unix
 * seconds. Returns undefined for anything else.
 */
export function parseMomentS(text: string): number | undefined {
  if (/^\d{1,12}$/.test(text)) return Number(text) <= MAX_SECONDS ? Number(text) : undefined;
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', zone = ''] = match;
  // Date.parse reads February 30 as March 2: only text that survives the round trip is a valid date.
  const asUtc = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(asUtc) || new Date(asUtc).toISOString() !== `${date}T${time}.000Z`) return undefined;
  const seconds = Date.parse(`${date}T${time}${zone}`) / 1_000;
  return seconds >= 0 && seconds <= MAX_SECONDS ? seconds : undefined;
}
