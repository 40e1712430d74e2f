import type { PolicyModel } from '../../config/index.ts';
import { serviceLimitItem } from '../../http/index.ts';
import type { Decision, LimitSet } from '../../limits/index.ts';

/** What `RateLimit` and `RateLimit-Policy` tell the client about a decision (docs/contract.md, 4.10). */
export interface PolicyReport {
  readonly policy: PolicyModel;
  /** Which of its limits the decision describes. */
  readonly name: string;
  readonly remaining: number;
  /** Until then the client can use no more than that; monotonic milliseconds. */
  readonly endsAtMs: number;
  readonly partition: string | null;
}

/** What is said about each set of limits. */
export type Policies = ReadonlyMap<LimitSet, PolicyModel>;

/**
 * Null if the decision describes no limit.
 *
 * @param bucket the hash of the bucket; null: the global limit refused
 */
export function policyReportOf(
  decision: Decision,
  set: LimitSet,
  policies: Policies,
  bucket: string | null,
  nowMs: number,
): PolicyReport | null {
  const { role, remaining } = decision;
  const policy = policies.get(set);
  if (role === null || policy === undefined) return null;
  const endsAtMs = nowMs + windowMs(decision, set);
  const partition = policy.isPartitioned ? bucket : null;
  return { policy, name: policy.names[role], remaining, endsAtMs, partition };
}

/**
 * How long no more than Remaining can be used. On a refusal the wait, which `Retry-After` says as well. A smooth limit gives the
 * next unit back long before all of them.
 */
function windowMs(
  { role, limit, remaining, resetAfterMs, retryAfterMs, admitted }: Decision,
  set: LimitSet,
): number {
  if (!admitted) return retryAfterMs;
  const described = role === null ? null : set[role];
  if (described?.algorithm !== 'smooth') return resetAfterMs;
  return resetAfterMs - ((limit - remaining - 1) * described.periodMs) / limit;
}

/** The two fields, with the window as it is when the response goes out. */
export function policyFields(report: PolicyReport, nowMs: number): [string, string, string, string] {
  const { policy, name, remaining, endsAtMs, partition } = report;
  const item = serviceLimitItem({ name, remaining, windowMs: endsAtMs - nowMs, partition });
  return ['RateLimit-Policy', policy.list, 'RateLimit', item];
}
