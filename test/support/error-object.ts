import { expect } from 'vitest';
import { type Answer, header, names, type RawClient, values } from './wire/index.ts';

/** That the gateway made this answer by itself, in the one form of its errors: the contract's error object. */
export function expectError(answer: Answer, status: number, code: number): void {
  const text = answer.body.toString('latin1');
  expect({ status: answer.status, code: JSON.parse(text).code }, text).toEqual({ status, code });
  expect(JSON.parse(text)).toEqual({ code, message: expect.stringMatching(/^[\x20-\x7e]+$/), details: [] });
  expect(header(answer, 'content-type')).toBe('application/json');
  expect(header(answer, 'content-length')).toBe(String(answer.bodyBytes));
  expect(values(answer.fields, 'via')).toEqual(['1.1 weir']);
  expect(header(answer, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  expect(Date.parse(header(answer, 'date') ?? '')).not.toBeNaN();
  expect(answer.complete).toBe(true);
}

/** That there is no token: the error object, a challenge that says no more, and no limit of any kind. */
export function expectUnauthenticated(answer: Answer): void {
  expectChallenge(answer, 'Bearer');
}

/** That there is a token and it is not valid, which is all that the challenge says. */
export function expectInvalidToken(answer: Answer): void {
  expectChallenge(answer, 'Bearer error="invalid_token"');
}

function expectChallenge(answer: Answer, challenge: string): void {
  expectError(answer, 401, 16);
  expect(values(answer.fields, 'www-authenticate')).toEqual([challenge]);
  expect(names(answer.fields).filter(name => /ratelimit|retry-after/i.test(name))).toEqual([]);
}

/** That the gateway refused the bytes on this connection: the error object, then the end of the connection. */
export async function expectRejected(client: RawClient, status = 400, code = 3): Promise<Answer> {
  const answer = await client.answer();
  expectError(answer, status, code);
  expect(header(answer, 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
  expect(client.unread.length, 'bytes after the last answer').toBe(0);
  return answer;
}
