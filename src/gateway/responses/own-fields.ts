import { isOfFile, type LimitPolicies, type RouteModel, type Snapshot } from '../../config/index.ts';
import { type Clock, firstValue } from '../../core/index.ts';
import type { Decision, Limit, LimitSet } from '../../limits/index.ts';
import type { HttpVersion, RequestHead } from '../../wire/http/index.ts';
import { addRequestId, addTrace, corsFields, serviceLimitItem } from '../../wire/http/index.ts';

/** The facts about a request that its answer depends on. */
interface Answered {
  readonly clock: Clock;
  readonly requestId: string;
  readonly snapshot: Snapshot;
  readonly head: RequestHead;
  readonly destination: { readonly route: RouteModel | null };
  /** A nonce for the client's next proof; `null` for none. */
  readonly freshNonce: string | null;
}

/**
 * Adds the gateway's own fields to a response, whether the gateway or the upstream made it.
 *
 * @param rate the state of the bucket to report; null if there is none (see `reportsRate`)
 * @param via the HTTP version of the forwarded response; null for restricted addresses: to clients, a 429 without `Via` comes
 *   from something in front of the service
 */
export function addOwnFields(
  fields: string[],
  answered: Answered,
  rate: RateReport | null,
  via: HttpVersion | null = '1.1',
): void {
  if (answered.freshNonce !== null) fields.push('DPoP-Nonce', answered.freshNonce);
  if (rate !== null) addRateFields(fields, rate, answered.clock.monotonicMs());
  if (answered.snapshot.cors !== null) addCorsFields(fields, answered);
  if (via !== null) addTrace(fields, answered.requestId, via);
  else addRequestId(fields, answered.requestId);
}

/** Adds the fields configured on the route to a response of the gateway's own. */
export function addSetFields(fields: string[], { route }: Answered['destination']): void {
  if (isOfFile(route)) route.responseEdits?.addToOwn(fields);
}

function addCorsFields(fields: string[], { snapshot, destination, head }: Answered): void {
  const { route } = destination;
  if (snapshot.cors === null || (isOfFile(route) && !route.cors)) return;
  const isOfCalls = isOfFile(route) && route.grpcWeb;
  const origin = firstValue(head.kept, 'origin');
  for (const part of corsFields(snapshot.cors, origin, isOfCalls, takeExposed(fields))) fields.push(part);
}

/** Takes the service's `Access-Control-Expose-Headers` out of a response. */
function takeExposed(fields: string[]): string[] {
  const exposed: string[] = [];
  for (let i = fields.length - 2; i >= 0; i -= 2) {
    if ((fields[i] as string).toLowerCase() !== 'access-control-expose-headers') continue;
    exposed.unshift(fields[i + 1] as string);
    fields.splice(i, 2);
  }
  return exposed;
}

/** A response may leave after its window has closed, and a client library that divides by `Reset-After` hangs on 0. */
const MIN_RESET_AFTER_MS = 1;

/** The state of a bucket as reported to the client, kept until the response is sent. */
export interface RateReport {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds since the epoch; the same in all responses of a window. */
  readonly resetAtMs: number;
  /** The same moment on the monotonic clock. */
  readonly resetsAtMs: number;
  /** The wait until then, if the body of a refusal states it too; `null` to count down until the response is sent. */
  readonly announcedWaitMs: number | null;
  readonly bucket: string;
  readonly scope: 'user' | 'shared';
  /** The content of `RateLimit` and `RateLimit-Policy`; `null` if the response does not carry them. */
  readonly policy: PolicyReport | null;
}

/** Copies what is needed: a store may overwrite its decision at the next call. */
export function rateReport(
  decision: Decision,
  bucket: string,
  scope: 'user' | 'shared',
  nowMs: number,
  policy: PolicyReport | null = null,
): RateReport {
  const { limit, remaining, resetAtMs, resetAfterMs, admitted } = decision;
  const announcedWaitMs = admitted ? null : resetAfterMs;
  return {
    limit,
    remaining,
    resetAtMs,
    resetsAtMs: nowMs + resetAfterMs,
    announcedWaitMs,
    bucket,
    scope,
    policy,
  };
}

/** The report after the units of a request were returned, if its window is still open. */
export function withUnitsBack(report: RateReport, units: number, nowMs: number): RateReport {
  if (nowMs >= report.resetsAtMs) return report;
  const remaining = Math.min(report.limit, report.remaining + units);
  return { ...report, remaining, policy: report.policy && { ...report.policy, remaining } };
}

/** Adds the six header fields of a bucket in the forms that clients expect (docs/contract.md, 4.5). */
export function addRateFields(fields: string[], report: RateReport, nowMs: number): void {
  fields.push(
    'X-RateLimit-Limit',
    String(report.limit),
    'X-RateLimit-Remaining',
    String(report.remaining),
    'X-RateLimit-Reset',
    seconds(report.resetAtMs),
    'X-RateLimit-Reset-After',
    seconds(Math.max(MIN_RESET_AFTER_MS, Math.ceil(report.announcedWaitMs ?? report.resetsAtMs - nowMs))),
    'X-RateLimit-Bucket',
    report.bucket,
    'X-RateLimit-Scope',
    report.scope,
  );
  if (report.policy !== null) fields.push(...policyFields(report.policy, nowMs));
}

/** Whole milliseconds as seconds with exactly three decimals, never with an exponent. */
export function seconds(ms: number): string {
  const millis = ms % 1_000;
  const whole = (ms - millis) / 1_000;
  return `${whole}.${millis > 99 ? millis : millis > 9 ? `0${millis}` : `00${millis}`}`;
}

/** What `RateLimit` and `RateLimit-Policy` tell the client about a decision (docs/contract.md, 4.10). */
interface PolicyReport {
  /** The value of `RateLimit-Policy`. */
  readonly list: string;
  /** Which of the limits the decision describes. */
  readonly name: string;
  readonly remaining: number;
  /** The client has no more than `remaining` until this time; monotonic milliseconds. */
  readonly endsAtMs: number;
  readonly partition: string | null;
}

/**
 * Makes the report of a decision; `null` if it describes no limit.
 *
 * @param bucket the hash of the bucket; `null` if the global limit refused
 */
export function policyReportOf(
  decision: Decision,
  set: LimitSet,
  policies: LimitPolicies,
  bucket: string | null,
  nowMs: number,
): PolicyReport | null {
  const { role, by, remaining } = decision;
  const policy = policies.get(set);
  if (by === null) return null;
  const endsAtMs = nowMs + windowMs(decision, by);
  const partition = policy.isPartitioned ? bucket : null;
  const list = role === 'group' ? policy.listWithGroup : policy.list;
  return { list, name: policy.names.get(by.identity) ?? '', remaining, endsAtMs, partition };
}

/**
 * How long the client has no more than `remaining`. For a refusal that is the wait, as in `Retry-After`. A smooth limit returns
 * the next unit long before all of them.
 */
function windowMs(
  { limit, remaining, resetAfterMs, retryAfterMs, admitted, atOnce }: Decision,
  { algorithm, periodMs }: Limit,
): number {
  if (!admitted && !atOnce) return retryAfterMs;
  if (algorithm !== 'smooth') return resetAfterMs;
  return resetAfterMs - ((limit - remaining - 1) * periodMs) / limit;
}

/** Makes `RateLimit-Policy` and `RateLimit`, with the time that is left when the response is sent. */
export function policyFields(report: PolicyReport, nowMs: number): [string, string, string, string] {
  const { list, name, remaining, endsAtMs, partition } = report;
  const item = serviceLimitItem({ name, remaining, windowMs: endsAtMs - nowMs, partition });
  return ['RateLimit-Policy', list, 'RateLimit', item];
}
