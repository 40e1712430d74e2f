import type { Decision } from '../../limits/index.ts';
import { type PolicyReport, policyFields } from './policy-report.ts';

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
  /** The wait until then that a refusal's body tells as well; null: counted down until the response goes out. */
  readonly toldMs: number | null;
  /** Hash of the bucket. */
  readonly bucket: string;
  readonly scope: 'user' | 'shared';
  /** For `RateLimit` and `RateLimit-Policy`; null: the response does not carry them. */
  readonly policy: PolicyReport | null;
}

/** Copies what is needed: a store may overwrite its decision at the next call. */
export function reportOf(
  decision: Decision,
  bucket: string,
  scope: 'user' | 'shared',
  nowMs: number,
  policy: PolicyReport | null = null,
): RateReport {
  const { limit, remaining, resetAtMs, resetAfterMs, admitted } = decision;
  const toldMs = admitted ? null : resetAfterMs;
  return { limit, remaining, resetAtMs, resetsAtMs: nowMs + resetAfterMs, toldMs, bucket, scope, policy };
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
    seconds(Math.max(MIN_RESET_AFTER_MS, Math.ceil(report.toldMs ?? report.resetsAtMs - nowMs))),
    'X-RateLimit-Bucket',
    report.bucket,
    'X-RateLimit-Scope',
    report.scope,
  );
  if (report.policy !== null) fields.push(...policyFields(report.policy, nowMs));
}

/** Whole milliseconds as seconds with exactly three decimals, never with an exponent. */
export function seconds(ms: number): string {
  const rest = ms % 1_000;
  const whole = (ms - rest) / 1_000;
  return `${whole}.${rest > 99 ? rest : rest > 9 ? `0${rest}` : `00${rest}`}`;
}
