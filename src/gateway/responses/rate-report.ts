import type { Decision } from '../../limits/index.ts';

/** A response may go out after its window has closed, and a client library that divides by `Reset-After` hangs on 0. */
const MIN_RESET_AFTER_MS = 1;

/** What a decision tells the client, kept until the response goes out. */
export interface RateReport {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since the epoch; the same in every response of a window. */
  readonly resetAtMs: number;
  /** The same moment on the monotonic clock. */
  readonly resetsAtMs: number;
  /** Hash of the bucket. */
  readonly bucket: string;
  readonly scope: 'user' | 'shared';
}

/** Copies what is needed: a store may overwrite its decision at the next call. */
export function reportOf(
  decision: Decision,
  bucket: string,
  scope: 'user' | 'shared',
  nowMs: number,
): RateReport {
  const { limit, remaining, resetAtMs, resetAfterMs } = decision;
  return { limit, remaining, resetAtMs, resetsAtMs: nowMs + resetAfterMs, bucket, scope };
}

/** Adds the six header fields of a bucket, in the forms that clients need (docs/contract.md, 4.5). */
export function addRateFields(fields: string[], report: RateReport, nowMs: number): void {
  fields.push(
    'X-RateLimit-Limit',
    String(report.limit),
    'X-RateLimit-Remaining',
    String(report.remaining),
    'X-RateLimit-Reset',
    seconds(report.resetAtMs),
    'X-RateLimit-Reset-After',
    seconds(Math.max(MIN_RESET_AFTER_MS, Math.ceil(report.resetsAtMs - nowMs))),
    'X-RateLimit-Bucket',
    report.bucket,
    'X-RateLimit-Scope',
    report.scope,
  );
}

/** Whole milliseconds as seconds with exactly three decimals, never with an exponent. */
export function seconds(ms: number): string {
  const rest = ms % 1_000;
  const whole = (ms - rest) / 1_000;
  return `${whole}.${rest > 99 ? rest : rest > 9 ? `0${rest}` : `00${rest}`}`;
}
