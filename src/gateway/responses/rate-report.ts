import type { Decision } from '../../limits/index.ts';

/** A client library divides by `Reset-After` and hangs on 0; a response may come after its window has closed. */
const LEAST_RESET_AFTER_MS = 1;

/** What a decision says to the client, kept until its response goes out. */
export interface RateReport {
  readonly limit: number;
  readonly remaining: number;
  /** Since the epoch; the same in every response of a window. */
  readonly resetAtMs: number;
  /** The same moment on the monotonic clock. */
  readonly resetsAtMs: number;
  /** Hash of the bucket. */
  readonly bucket: string;
  readonly scope: 'user' | 'shared';
}

/** Copies what is needed: a store may write over its decision at the next call. */
export function reportOf(
  decision: Decision,
  bucket: string,
  scope: 'user' | 'shared',
  nowMs: number,
): RateReport {
  const { limit, remaining, resetAtMs, resetAfterMs } = decision;
  return { limit, remaining, resetAtMs, resetsAtMs: nowMs + resetAfterMs, bucket, scope };
}

/** The six headers of a bucket, in the forms that clients need (docs/contract.md, 4.5). */
export function addRateFields(fields: string[], report: RateReport, nowMs: number): void {
  fields.push(
    'X-RateLimit-Limit',
    String(report.limit),
    'X-RateLimit-Remaining',
    String(report.remaining),
    'X-RateLimit-Reset',
    seconds(report.resetAtMs),
    'X-RateLimit-Reset-After',
    seconds(Math.max(LEAST_RESET_AFTER_MS, Math.ceil(report.resetsAtMs - nowMs))),
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
