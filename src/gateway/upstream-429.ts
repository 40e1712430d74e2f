import { type Fields, firstValue } from '../core/index.ts';
import { RateLimitError } from './rate-limit-error.ts';

const LONGEST_WAIT_S = 65_535;
const SCOPES = ['user', 'shared', 'global'] as const;
type Scope = (typeof SCOPES)[number];

/** The scope of an upstream's 429 that speaks the contract, so that clients of this header family understand it; else null. */
export function contractScope(fields: Fields): Scope | null {
  const retryAfter = firstValue(fields, 'retry-after') ?? '';
  if (!/^[1-9]\d{0,4}$/.test(retryAfter) || Number(retryAfter) > LONGEST_WAIT_S) return null;
  const scope = firstValue(fields, 'x-ratelimit-scope');
  return SCOPES.find(known => known === scope) ?? null;
}

/**
 * The contract's 429 in place of an upstream's own, on which clients of the family fail. The upstream's `Retry-After`
 * (seconds or a date, RFC 9110, 10.2.3) tells the wait; without one it is a second.
 */
export function rewritten429(fields: Fields, scope: 'user' | 'shared', nowMs: number): RateLimitError {
  const message = 'The service behind the gateway is limiting its rate.';
  return new RateLimitError({
    message,
    retryAfterMs: waitSeconds(fields, nowMs) * 1_000,
    global: false,
    scope,
  });
}

function waitSeconds(fields: Fields, nowMs: number): number {
  const text = firstValue(fields, 'retry-after')?.trim() ?? '';
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000;
  return Number.isNaN(seconds) ? 1 : Math.min(LONGEST_WAIT_S, Math.max(1, Math.ceil(seconds)));
}
