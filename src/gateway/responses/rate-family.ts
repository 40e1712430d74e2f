import type { Clock, Fields } from '../../core/index.ts';
import { foldName } from '../../http/index.ts';
import type { RateReport } from './own-fields.ts';

/** The `X-RateLimit-*` of an upstream's response, by lower-case name, each in the form that clients of the family rely on. */
export type RateFamily = ReadonlyMap<string, string>;

const MIN_WAIT_S = 0.001;
const MAX_QUOTA = 65_535;
const SECONDS = /^\d{1,10}\.\d{3}$/;
const QUOTA = /^\d{1,5}$/;

/** docs/contract.md, 4.5: other forms break clients. */
const FORMS: ReadonlyMap<string, RegExp> = new Map([
  ['x-ratelimit-scope', /^(?:user|shared|global)$/],
  ['x-ratelimit-global', /^true$/],
  ['x-ratelimit-limit', QUOTA],
  ['x-ratelimit-remaining', QUOTA],
  ['x-ratelimit-reset', SECONDS],
  ['x-ratelimit-reset-after', SECONDS],
  ['x-ratelimit-bucket', /^[0-9a-fA-F]{32}$/],
]);

/** Reads the family. Returns `null` if one of its fields has another form, comes twice, or is unknown. */
export function readFamily(fields: Fields): RateFamily | null {
  const said = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    // Some servers read other spellings as the same name.
    if (!FORMS.has(name) && !foldName(name).startsWith('x-ratelimit-')) continue;
    if (said.has(name) || FORMS.get(name)?.test(value) !== true) return null;
    said.set(name, value);
  }
  return inRange(said) && agreesOnGlobal(said) ? said : null;
}

function inRange(said: RateFamily): boolean {
  const number = (name: string, absent: number) => Number(said.get(name) ?? absent);
  const limit = number('x-ratelimit-limit', MAX_QUOTA);
  return (
    limit >= 1 &&
    limit <= MAX_QUOTA &&
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

/** Whether it describes a bucket completely: some clients take a 429 with fewer than the six for no limit at all. */
export function isWholeBucket(family: RateFamily): boolean {
  return family.get('x-ratelimit-scope') !== 'global' && SIX.every(name => family.has(name));
}

/**
 * Completes what an upstream's 429 says about its bucket. What it leaves out is taken from the bucket that admitted the request,
 * shown as used up until the wait of the 429 is over.
 *
 * @param rate the bucket that admitted the request
 */
export function completedReport(
  family: RateFamily,
  rate: RateReport,
  scope: RateReport['scope'],
  waitMs: number,
  clock: Clock,
): RateReport {
  const nowMs = clock.monotonicMs();
  const resetsAtMs = nowMs + waitMs;
  const ofWait = { resetAtMs: Math.ceil(clock.epochMs() + waitMs), resetsAtMs, toldMs: waitMs };
  return {
    limit: Number(family.get('x-ratelimit-limit') ?? rate.limit),
    remaining: 0,
    ...(resetIn(family, nowMs) ?? ofWait),
    bucket: family.get('x-ratelimit-bucket') ?? rate.bucket,
    scope,
    policy: rate.policy === null ? null : { ...rate.policy, remaining: 0, endsAtMs: resetsAtMs },
  };
}

/** The moment of the reset if both fields say it: one alone would contradict what stands in for the other. */
function resetIn(
  family: RateFamily,
  nowMs: number,
): Pick<RateReport, 'resetAtMs' | 'resetsAtMs' | 'toldMs'> | null {
  const [at, after] = [family.get('x-ratelimit-reset'), family.get('x-ratelimit-reset-after')];
  if (at === undefined || after === undefined) return null;
  const toldMs = milliseconds(after);
  return { resetAtMs: milliseconds(at), resetsAtMs: nowMs + toldMs, toldMs };
}

/** Reads seconds with exactly three decimals. */
function milliseconds(seconds: string): number {
  return Number(seconds.replace('.', ''));
}
