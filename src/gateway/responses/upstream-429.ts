import { type Fields, firstValue } from '../../core/index.ts';
import { foldName } from '../../http/index.ts';
import { RateLimitError } from './rate-limit-error.ts';

const MIN_WAIT_S = 0.001;
const MAX_WAIT_S = 65_535;
const MAX_QUOTA = 65_535;
const SCOPES = ['user', 'shared', 'global'] as const;
export type Scope = (typeof SCOPES)[number];

/** What the head of a 429 says, once it follows the contract. */
export interface ContractHead {
  readonly scope: Scope;
  readonly retryAfterS: number;
}

const SECONDS = /^\d{1,10}\.\d{3}$/;
const QUOTA = /^\d{1,5}$/;

/**
 * The forms that clients of this header family rely on (docs/contract.md, 4.5): other forms, or the same field twice, break them.
 * `identity`, because an encoded body cannot be checked.
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

/** Reads the head of an upstream's 429 if clients of this header family understand it; else null. */
export function contractHead(fields: Fields): ContractHead | null {
  const said = contractFields(fields);
  if (said === null || !said.has('content-type') || !inRange(said)) return null;
  const scope = SCOPES.find(known => known === said.get('x-ratelimit-scope'));
  if (scope === undefined || (scope === 'global') !== said.has('x-ratelimit-global')) return null;
  return { scope, retryAfterS: Number(said.get('retry-after')) };
}

/** The fields that have a required form; null if one has another form, comes twice, or is unknown to the family. */
function contractFields(fields: Fields): ReadonlyMap<string, string> | null {
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

/** Whether the body of an upstream's 429 follows the contract and agrees with its head. Each character is one byte. */
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
 * Whose limit it was, if the upstream says so. Otherwise `shared`, which does not blame the sender and which every client obeys:
 * under `user`, some keep sending while their bucket has room.
 */
export function rewrittenScope(fields: Fields): 'user' | 'shared' {
  return firstValue(fields, 'x-ratelimit-scope') === 'user' ? 'user' : 'shared';
}

/**
 * Makes the contract's 429 from an upstream's own, which clients of the family would not understand. The wait is the upstream's
 * `Retry-After` (seconds or a date, RFC 9110, 10.2.3); one second by default.
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

/** Fields that describe the body (RFC 9110, 8), and those that the rewritten response writes itself. */
const REWRITTEN: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'],
  ...['content-range', 'content-disposition', 'content-md5', 'content-digest', 'repr-digest', 'digest'],
  ...['etag', 'last-modified', 'expires', 'cache-control', 'retry-after'],
]);

/** The fields of an upstream's 429 that stay when it is rewritten. `fields`: those that may pass. */
export function fieldsBeside(fields: Fields): string[] {
  return without(fields, name => REWRITTEN.has(name));
}

/** The fields except those that `isDropped` picks by their lower-case name. */
export function without(fields: Fields, isDropped: (lowerName: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!isDropped(name.toLowerCase())) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}
