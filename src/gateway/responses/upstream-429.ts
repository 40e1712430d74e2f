import { type Fields, firstValue } from '../../core/index.ts';
import { foldName } from '../../http/index.ts';
import { RateLimitError } from './rate-limit-error.ts';

const MIN_WAIT_S = 0.001;
const MAX_WAIT_S = 65_535;
const MAX_QUOTA = 65_535;
const SCOPES = ['user', 'shared', 'global'] as const;
export type Scope = (typeof SCOPES)[number];

/** What the head of a 429 says in the words of the contract. */
export interface ContractHead {
  readonly scope: Scope;
  readonly retryAfterS: number;
}

const SECONDS = /^\d{1,10}\.\d{3}$/;
const QUOTA = /^\d{1,5}$/;

/**
 * The forms on which clients of this header family rely (docs/contract.md, 4.5): other ones, or two of a name, break them.
 * A coded body cannot be judged.
 */
const FORMS: ReadonlyMap<string, RegExp> = new Map([
  ['content-type', /^application\/json$/],
  ['content-encoding', /^identity$/],
  ['retry-after', /^[1-9]\d{0,4}$/],
  ['x-ratelimit-scope', /^(?:user|shared|global)$/],
  ['x-ratelimit-global', /^true$/],
  ['x-ratelimit-limit', QUOTA],
  ['x-ratelimit-remaining', QUOTA],
  ['x-ratelimit-reset', SECONDS],
  ['x-ratelimit-reset-after', SECONDS],
  ['x-ratelimit-bucket', /^[0-9a-fA-F]{32}$/],
]);

/** An upstream's 429 whose head speaks the contract, so that clients of this header family understand it; else null. */
export function contractHead(fields: Fields): ContractHead | null {
  const said = saidBy(fields);
  if (said === null || !said.has('content-type') || !inRange(said)) return null;
  const scope = SCOPES.find(known => known === said.get('x-ratelimit-scope'));
  if (scope === undefined || (scope === 'global') !== said.has('x-ratelimit-global')) return null;
  return { scope, retryAfterS: Number(said.get('retry-after')) };
}

/** The fields that have a form; null: one of them lacks it or comes twice, or the family has no field of its name. */
function saidBy(fields: Fields): ReadonlyMap<string, string> | null {
  const said = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const form = FORMS.get(name);
    if (form === undefined && !foldName(name).startsWith('x-ratelimit-')) continue;
    if (form === undefined || said.has(name) || !form.test(value)) return null;
    said.set(name, value);
  }
  return said;
}

function inRange(said: ReadonlyMap<string, string>): boolean {
  const number = (name: string, absent: number) => Number(said.get(name) ?? absent);
  const limit = number('x-ratelimit-limit', MAX_QUOTA);
  return (
    number('retry-after', Number.NaN) <= MAX_WAIT_S &&
    limit >= 1 &&
    limit <= MAX_QUOTA &&
    number('x-ratelimit-remaining', 0) <= limit &&
    number('x-ratelimit-reset-after', MIN_WAIT_S) >= MIN_WAIT_S
  );
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Whether the body of an upstream's 429 speaks the contract, and agrees with its head. Each character is one byte. */
export function bodySpeaks(body: string, { scope, retryAfterS }: ContractHead): boolean {
  const members = membersOf(body);
  const wait = members.get('retry_after');
  return (
    typeof members.get('message') === 'string' &&
    typeof wait === 'number' &&
    wait >= MIN_WAIT_S &&
    Math.ceil(wait) === retryAfterS &&
    members.get('global') === (scope === 'global')
  );
}

function membersOf(body: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(UTF8.decode(Buffer.from(body, 'latin1')));
    return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

/**
 * Whose limit it was, as far as the upstream says. Else `shared`: nobody can tell, clients obey it in any case where some
 * go on under `user` while their bucket has room, and the sender is not blamed.
 */
export function rewrittenScope(fields: Fields): 'user' | 'shared' {
  return firstValue(fields, 'x-ratelimit-scope') === 'user' ? 'user' : 'shared';
}

/**
 * The contract's 429 in place of an upstream's own, on which clients of the family fail. The upstream's `Retry-After`
 * (seconds or a date, RFC 9110, 10.2.3) tells the wait; without one it is a second.
 */
export function rewritten429(fields: Fields, scope: 'user' | 'shared', nowMs: number): RateLimitError {
  return new RateLimitError({
    message: 'The service behind the gateway is limiting its rate.',
    retryAfterMs: waitSeconds(fields, nowMs) * 1_000,
    global: false,
    scope,
  });
}

function waitSeconds(fields: Fields, nowMs: number): number {
  const text = firstValue(fields, 'retry-after')?.trim() ?? '';
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000;
  return Number.isNaN(seconds) ? 1 : Math.min(MAX_WAIT_S, Math.max(1, Math.ceil(seconds)));
}

/** Fields that tell of a body (RFC 9110, 8), and those of which the rewritten response has its own. */
const REWRITTEN: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'],
  ...['content-range', 'content-disposition', 'content-md5', 'content-digest', 'repr-digest', 'digest'],
  ...['etag', 'last-modified', 'expires', 'cache-control', 'retry-after'],
]);

/** Of an upstream's fields that may pass, those that also stay on its 429 when that is rewritten. */
export function fieldsBeside(fields: Fields): string[] {
  return without(fields, name => REWRITTEN.has(name));
}

/** The fields without those of which this is true; names in lower case. */
export function without(fields: Fields, isDropped: (lowerName: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!isDropped(name.toLowerCase())) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}
