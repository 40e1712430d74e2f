import { z } from 'zod';
import { parseDurationMs } from '../../../core/index.ts';
import { parseMomentS } from './moment-value.ts';
import { refuse } from './refuse.ts';
import { formatSize, parseSizeBytes } from './size.ts';

/**
 * A time such as `250ms`, read as milliseconds. The maximum of a day keeps clear of 31 bits, past which Node's timers fire
 * immediately.
 */
export function duration({ min = '1ms', max = '24h' } = {}) {
  const error = 'expected a time such as 250ms, 5s, 10m or 1h';
  return z
    .string({ error })
    .regex(/^\d{1,9}(ms|s|m|h)$/, { error, abort: true })
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      const [minMs = 0, maxMs = 0] = [min, max].map(parseDurationMs);
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
      return refuse(context, `expected a time from ${min} to ${max}`);
    });
}

/** `off`, read as null, or a time read as milliseconds. */
export function durationOrOff({ min = '1ms', max = '24h' } = {}) {
  const error = 'expected off, or a time such as 250ms, 5s, 10m or 1h';
  return z
    .string({ error })
    .regex(/^(off|\d{1,9}(ms|s|m|h))$/, { error, abort: true })
    .transform((text, context) => {
      if (text === 'off') return null;
      const ms = parseDurationMs(text);
      const [minMs = 0, maxMs = 0] = [min, max].map(parseDurationMs);
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
      return refuse(context, `expected off, or a time from ${min} to ${max}`);
    });
}

/** A size such as `16KiB`, read as bytes. */
export function size({ min, max }: { readonly min: number; readonly max: number }) {
  const error = SIZE_EXPECTED;
  return z
    .string({ error })
    .regex(/^\d{1,9}(B|KiB|MiB|GiB)$/, { error, abort: true })
    .transform((text, context) => {
      const bytes = parseSizeBytes(text);
      if (bytes !== undefined && bytes >= min && bytes <= max) return bytes;
      return refuse(context, `expected a size from ${formatSize(min)} to ${formatSize(max)}`);
    });
}

/** `none`, read as null, or a size read as bytes. */
export function sizeOrNone() {
  const error = `expected none or ${SIZE_EXPECTED.replace('expected ', '')}`;
  return z
    .string({ error })
    .regex(/^(none|\d{1,9}(B|KiB|MiB|GiB))$/, { error, abort: true })
    .transform((text, context) => {
      if (text === 'none') return null;
      return parseSizeBytes(text) ?? refuse(context, 'expected a smaller size');
    });
}

/** A percentage such as `25%`, read as a number. */
export function percentage() {
  const error = 'expected a percentage from 1% to 100%';
  return z
    .string({ error })
    .regex(/^([1-9]\d?|100)%$/, { error, abort: true })
    .transform(text => Number(text.slice(0, -1)));
}

/** A share such as `10%` or `0.5%`, read as a number from 0 to 1. */
export function share() {
  const error = 'expected a percentage from 0% to 100%, such as 10% or 0.5%';
  return z
    .string({ error })
    .regex(/^(100(\.0{1,4})?|\d{1,2}(\.\d{1,4})?)%$/, { error, abort: true })
    .transform(text => Number(text.slice(0, -1)) / 100);
}

/** `off`, read as null, or a rate such as `240B/s`, read as bytes a second. */
export function rateOrOff() {
  const error = 'expected off, or a rate such as 240B/s or 4KiB/s';
  return z
    .string({ error })
    .regex(/^(off|\d{1,9}(B|KiB|MiB|GiB)\/s)$/, { error, abort: true })
    .transform((text, context) => {
      if (text === 'off') return null;
      const bytes = parseSizeBytes(text.slice(0, -'/s'.length)) ?? 0;
      return bytes > 0 ? bytes : refuse(context, error);
    });
}

const SIZE_EXPECTED = 'expected a size such as 512B, 64KiB or 10MiB';

/** `none`, read as 0, or a moment read as seconds since the epoch. Unix seconds may be a number as well. */
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
