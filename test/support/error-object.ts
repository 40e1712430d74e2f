import { expect } from 'vitest';
import { header, names, type RawClient, type Response, values } from './wire/index.ts';

/** Expects a response made by the gateway, with the contract's error object. */
export function expectError(response: Response, status: number, code: number): void {
  const text = response.body.toString('latin1');
  expect({ status: response.status, code: JSON.parse(text).code }, text).toEqual({ status, code });
  expect(JSON.parse(text)).toEqual({ code, message: expect.stringMatching(/^[\x20-\x7e]+$/), details: [] });
  expect(header(response, 'content-type')).toBe('application/json');
  expect(header(response, 'content-length')).toBe(String(response.bodyBytes));
  expect(values(response.fields, 'via')).toEqual(['1.1 weir']);
  expect(header(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  expect(Date.parse(header(response, 'date') ?? '')).not.toBeNaN();
  expect(response.complete).toBe(true);
}

/** Expects the response to a missing token: the error object, a challenge without an error, and no limit fields. */
export function expectUnauthenticated(response: Response): void {
  expectChallenge(response, 'Bearer');
}

/** That there is a token and it is not valid, which is all that the challenge says. */
export function expectInvalidToken(response: Response): void {
  expectChallenge(response, 'Bearer error="invalid_token"');
}

function expectChallenge(response: Response, challenge: string): void {
  expectError(response, 401, 16);
  expect(values(response.fields, 'www-authenticate')).toEqual([challenge]);
  expect(names(response.fields).filter(name => /ratelimit|retry-after/i.test(name))).toEqual([]);
}

/** That the gateway refused the bytes on this connection: the error object, then the end of the connection. */
export async function expectRejected(
  client: RawClient,
  status = 400,
  code = 3,
  why?: string,
): Promise<Response> {
  const response = await client.answer();
  expect(response.status, why).toBe(status);
  expectError(response, status, code);
  expect(header(response, 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
  expect(client.unread.length, 'bytes after the last response').toBe(0);
  return response;
}
