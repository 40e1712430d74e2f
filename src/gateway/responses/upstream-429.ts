import { isUtf8 } from 'node:buffer';
import type { Clock, Fields } from '../../core/index.ts';
import { firstValue, jsonIn, MAX_RETRY_AFTER_MS, wholeSeconds, withoutFields } from '../../core/index.ts';
import { MAX_UNITS } from '../../limits/index.ts';
import { foldName } from '../../wire/http/index.ts';
import type { RateReport } from './own-fields.ts';
import { RateLimitError } from './rate-limit-error.ts';

/** An upstream's `X-RateLimit-*` fields by lower-case name, each in the form that clients of the family rely on. */
type RateFamily = ReadonlyMap<string, string>;

const SECONDS = /^\d{1,10}\.\d{3}$/;
const QUOTA = /^\d{1,10}$/;

/** docs/contract.md, 4.5: other forms break clients. */
const FAMILY_FORMS: ReadonlyMap<string, RegExp> = new Map([
  ['x-ratelimit-scope', /^(?:user|shared|global)$/],
  ['x-ratelimit-global', /^true$/],
  ['x-ratelimit-limit', QUOTA],
  ['x-ratelimit-remaining', QUOTA],
  ['x-ratelimit-reset', SECONDS],
  ['x-ratelimit-reset-after', SECONDS],
  ['x-ratelimit-bucket', /^[0-9a-fA-F]{32}$/],
]);

/** Reads the family. Returns `null` if a field has another form, is repeated, or is unknown. */
export function readFamily(fields: Fields): RateFamily | null {
  // Some servers treat other spellings as the same name.
  const said = readForms(fields, FAMILY_FORMS, name => foldName(name).startsWith('x-ratelimit-'));
  return said !== null && inRange(said) && agreesOnGlobal(said) ? said : null;
}

/**
 * Reads the fields that have a required form. Returns `null` if one has another form or is repeated, or if `isUnknown` returns true
 * for one.
 */
function readForms(
  fields: Fields,
  forms: ReadonlyMap<string, RegExp>,
  isUnknown = (_name: string) => false,
): RateFamily | null {
  const said = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const form = forms.get(name);
    if (form === undefined && !isUnknown(name)) continue;
    if (said.has(name) || form?.test(value) !== true) return null;
    said.set(name, value);
  }
  return said;
}

function inRange(said: RateFamily): boolean {
  const number = (name: string, absent: number) => Number(said.get(name) ?? absent);
  const limit = number('x-ratelimit-limit', MAX_UNITS);
  return (
    limit >= 1 &&
    limit <= MAX_UNITS &&
    number('x-ratelimit-remaining', 0) <= limit &&
    number('x-ratelimit-reset-after', MIN_WAIT_S) >= MIN_WAIT_S
  );
}

function agreesOnGlobal(said: RateFamily): boolean {
  return (said.get('x-ratelimit-scope') === 'global') === said.has('x-ratelimit-global');
}

const SIX = [
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-reset-after'],
  ...['x-ratelimit-bucket', 'x-ratelimit-scope'],
];

/** Whether it describes a bucket completely: some clients treat a 429 with fewer than the six as no limit at all. */
export function isWholeBucket(family: RateFamily): boolean {
  return family.get('x-ratelimit-scope') !== 'global' && SIX.every(name => family.has(name));
}

/**
 * Completes what an upstream's 429 says about its bucket. Takes missing fields from the bucket that admitted the request, shown
 * as used up until the 429's wait is over.
 *
 * @param rate the bucket that admitted the request
 */
function completedReport(
  family: RateFamily,
  rate: RateReport,
  scope: RateReport['scope'],
  waitMs: number,
  clock: Clock,
): RateReport {
  const nowMs = clock.monotonicMs();
  const resetsAtMs = nowMs + waitMs;
  const ofWait = { resetAtMs: Math.ceil(clock.epochMs() + waitMs), resetsAtMs, announcedWaitMs: waitMs };
  return {
    limit: Number(family.get('x-ratelimit-limit') ?? rate.limit),
    remaining: 0,
    ...(resetIn(family, nowMs) ?? ofWait),
    bucket: family.get('x-ratelimit-bucket') ?? rate.bucket,
    scope,
    policy: rate.policy === null ? null : { ...rate.policy, remaining: 0, endsAtMs: resetsAtMs },
  };
}

/**
 * When the limit resets, if the upstream sends both fields. A single one is not used: the gateway's value for the other could
 * contradict it.
 */
function resetIn(
  family: RateFamily,
  nowMs: number,
): Pick<RateReport, 'resetAtMs' | 'resetsAtMs' | 'announcedWaitMs'> | null {
  const [at, after] = [family.get('x-ratelimit-reset'), family.get('x-ratelimit-reset-after')];
  if (at === undefined || after === undefined) return null;
  const announcedWaitMs = milliseconds(after);
  return { resetAtMs: milliseconds(at), resetsAtMs: nowMs + announcedWaitMs, announcedWaitMs };
}

/** Reads seconds with exactly three decimals. */
function milliseconds(seconds: string): number {
  return Number(seconds.replace('.', ''));
}

const MIN_WAIT_S = 0.001;
const SCOPES = ['user', 'shared', 'global'] as const;
export type Scope = (typeof SCOPES)[number];

/** The head of a 429 that follows the contract. */
export interface ContractHead {
  readonly scope: Scope;
  readonly retryAfterS: number;
  readonly family: RateFamily;
}

/**
 * The forms that clients of this header family rely on (docs/contract.md, 4.5): other forms or repeated fields break them.
 * `identity`, because an encoded body cannot be checked.
 */
const FORMS: ReadonlyMap<string, RegExp> = new Map([
  ['content-type', /^application\/json$/],
  ['content-encoding', /^identity$/],
  ['retry-after', /^[1-9]\d{0,6}$/],
]);

/** Reads the head of an upstream's 429 if clients of this header family understand it; else null. */
export function contractHead(fields: Fields): ContractHead | null {
  const family = readFamily(fields);
  const said = readForms(fields, FORMS);
  const scope = SCOPES.find(known => known === family?.get('x-ratelimit-scope'));
  if (family === null || said === null || scope === undefined || !said.has('content-type')) return null;
  const retryAfterS = Number(said.get('retry-after') ?? Number.NaN);
  return retryAfterS * 1_000 <= MAX_RETRY_AFTER_MS ? { scope, retryAfterS, family } : null;
}

/** Whether the head has all fields that clients of the family need. */
export function isWhole({ scope, family }: ContractHead): boolean {
  return scope === 'global' || isWholeBucket(family);
}

/** A forwarded 429: its fields without those of the bucket, and the report of the bucket that replaces them. */
interface Completion {
  readonly fields: string[];
  readonly report: RateReport;
}

/**
 * Completes a forwarded 429. Returns `null` if nothing is missing.
 *
 * @param fields all forwarded fields, from which the head was read
 * @param rate the bucket that admitted the request
 */
export function completionOf(
  { scope, retryAfterS, family }: ContractHead,
  fields: Fields,
  rate: RateReport,
  clock: Clock,
): Completion | null {
  if (scope === 'global' || isWholeBucket(family)) return null;
  const report = completedReport(family, rate, scope, retryAfterS * 1_000, clock);
  const saysPolicy = firstValue(fields, 'ratelimit') !== undefined;
  return {
    fields: withoutFields(fields, name => family.has(name.toLowerCase())),
    report: saysPolicy ? { ...report, policy: null } : report,
  };
}

/** Whether the body of an upstream's 429 follows the contract and agrees with its head. Each character is one byte. */
export function bodyFollowsContract(
  body: string,
  { scope, retryAfterS }: Omit<ContractHead, 'family'>,
): boolean {
  const members = membersOf(body);
  const wait = members.get('retry_after');
  return (
    typeof members.get('message') === 'string' &&
    typeof wait === 'number' &&
    wait >= MIN_WAIT_S &&
    wholeSeconds(wait * 1_000) === retryAfterS &&
    members.get('global') === (scope === 'global')
  );
}

function membersOf(body: string): ReadonlyMap<string, unknown> {
  const bytes = Buffer.from(body, 'latin1');
  const value = isUtf8(bytes) ? jsonIn(bytes.toString('utf8')) : undefined;
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}

/**
 * Whose limit the upstream meant: what it says, or else `shared`, which does not blame the sender. Decides whether the response
 * counts as an invalid request; what clients see may differ.
 */
export function meantScope(fields: Fields): Scope {
  const said = firstValue(fields, 'x-ratelimit-scope');
  return SCOPES.find(scope => scope === said) ?? 'shared';
}

/**
 * Makes the contract's 429 from an upstream's own, which clients of the family would not understand. The wait is the upstream's
 * `Retry-After` (seconds or a date, RFC 9110, 10.2.3), one second by default. The scope is `shared`, which every client obeys:
 * with `user`, some keep sending while their bucket has units left.
 */
export function rewritten429(fields: Fields, nowMs: number): RateLimitError {
  return new RateLimitError({
    message: 'The service behind the gateway is limiting its rate.',
    retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, waitSeconds(fields, nowMs) * 1_000),
    scope: 'shared',
  });
}

function waitSeconds(fields: Fields, nowMs: number): number {
  const waitMs = retryAfterIn(fields, nowMs);
  return waitMs === null ? 1 : wholeSeconds(waitMs);
}

/** The wait that `Retry-After` says, in seconds or by a date; `null` if it says none. */
export function retryAfterIn(fields: Fields, nowMs: number): number | null {
  const text = firstValue(fields, 'retry-after')?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? null : waitMs;
}

/** The report of an admitted request in the service's own 429: `t` of `RateLimit` becomes the wait of its `Retry-After`. */
export function untilRetry(rate: RateReport | null, waitMs: number, clock: Clock): RateReport | null {
  const policy = rate?.policy ?? null;
  if (rate === null || policy === null) return rate;
  return { ...rate, policy: { ...policy, endsAtMs: clock.monotonicMs() + waitMs } };
}

/** Fields that describe the body (RFC 9110, 8), and fields that the rewritten response has itself. */
const REWRITTEN: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'],
  ...['content-range', 'content-disposition', 'content-md5', 'content-digest', 'repr-digest', 'digest'],
  ...['etag', 'last-modified', 'expires', 'cache-control', 'retry-after'],
]);

/** The upstream's forwarded fields that stay when its 429 is rewritten. */
export function keptFieldsOf(fields: Fields): string[] {
  return withoutFields(fields, name => REWRITTEN.has(name.toLowerCase()));
}
