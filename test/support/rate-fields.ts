import { expect } from 'vitest';
import { names } from './wire/fields.ts';
import { header, type Response } from './wire/response.ts';

function present(response: Response | undefined): Response {
  if (response === undefined) throw new Error('there is no such response');
  return response;
}

/** What the bucket headers of a response say, each checked against the form that clients rely on. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Since the epoch, in seconds. */
  readonly reset: number;
  /** In seconds. */
  readonly resetAfter: number;
  readonly bucket: string;
  readonly scope: string;
}

export function rateOf(given: Response | undefined): Rate {
  const response = present(given);
  const text = (name: string, form: RegExp) => {
    const value = header(response, name);
    expect(value, name).toMatch(form);
    return value ?? '';
  };
  expect(header(response, 'x-ratelimit-global')).toBeUndefined();
  expect(Number(header(response, 'x-ratelimit-reset-after'))).toBeGreaterThan(0);
  return {
    limit: Number(text('X-RateLimit-Limit', /^[1-9]\d{0,4}$/)),
    remaining: Number(text('X-RateLimit-Remaining', /^\d{1,5}$/)),
    reset: Number(text('X-RateLimit-Reset', /^\d+\.\d{3}$/)),
    resetAfter: Number(text('X-RateLimit-Reset-After', /^\d+\.\d{3}$/)),
    bucket: text('X-RateLimit-Bucket', /^[0-9a-f]{32}$/),
    scope: text('X-RateLimit-Scope', /^(user|shared)$/),
  };
}

/** The body of a 429, with what each of them has checked. */
export function refusalOf(given: Response | undefined): Record<string, unknown> {
  const response = present(given);
  expect(response.status).toBe(429);
  expect(header(response, 'content-type')).toBe('application/json');
  expect(header(response, 'cache-control')).toBe('no-store');
  expect(header(response, 'date')).toBeDefined();
  const body: Record<string, unknown> = JSON.parse(response.body.toString('utf8'));
  const wait = Number(body['retry_after']);
  expect(body['message']).toEqual(expect.any(String));
  expect(wait).toBeGreaterThan(0);
  expect(Math.ceil(wait * 1_000) / 1_000).toBe(wait);
  expect(header(response, 'retry-after')).toBe(String(Math.ceil(wait)));
  return body;
}

/** The fields of the rate-limit family on a response, in lower case and in order of their names. */
export function rateFieldsOf(response: Response | undefined): string[] {
  return names(present(response).fields)
    .map(name => name.toLowerCase())
    .filter(name => name.startsWith('x-ratelimit-') || name === 'retry-after')
    .sort();
}

export const BUCKET_FIELDS = [
  'x-ratelimit-bucket',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-reset-after',
  'x-ratelimit-scope',
];
export const GLOBAL_FIELDS = ['retry-after', 'x-ratelimit-global', 'x-ratelimit-scope'];

/** The value of a field of a response that must be there. */
export function fieldOf(response: Response | undefined, name: string): string | undefined {
  return header(present(response), name);
}

export function statusesOf(responses: readonly Response[]): number[] {
  return responses.map(response => response.status);
}
