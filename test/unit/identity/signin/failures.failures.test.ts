import { describe, expect, test } from 'vitest';
import { type FailedOutcome, failure } from '../../../../src/identity/signin/failures.ts';

const COMMON: readonly FailedOutcome[] = [
  'gateway_refused',
  'not_ready',
  'overloaded',
  'unreachable',
  'timed_out',
  'broken',
  'fault',
];

describe.each([
  ['code', 'code', [...COMMON, 'code_refused']],
  ['refresh_token', 'refresh token', [...COMMON, 'token_refused']],
] as const)('with a %s', (grant, name, outcomes) => {
  test('every message is ASCII, and a 503 says when to retry', () => {
    for (const outcome of outcomes) {
      const { error } = failure(grant, outcome);
      expect(error.message).toMatch(/^[\x20-\x7e]+$/);
      expect(error.fields[0] === 'Retry-After').toBe(error.status === 503);
      expect(error.details).toEqual([]);
    }
  });

  test('no message speaks of another operation', () => {
    const foreign = grant === 'code' ? /refresh/i : /code|sign-ins|Sign-in is/;
    const own = outcomes.filter(outcome => outcome !== 'token_refused');
    for (const outcome of own) expect(failure(grant, outcome).error.message).not.toMatch(foreign);
  });

  test('only failures that sent nothing say that it may be tried again', () => {
    const unused = `The ${name} was not used`;
    const safe = outcomes.filter(outcome => failure(grant, outcome).error.message.includes(unused));
    expect(safe).toEqual(['not_ready', 'overloaded', 'unreachable']);
  });

  test('a failure whose outcome is unknown says that it may be spent', () => {
    for (const outcome of ['timed_out', 'broken'] as const)
      expect(failure(grant, outcome).error.message).toContain(`The ${name} may be spent`);
    expect(failure(grant, 'timed_out').error).toMatchObject({ status: 504, rpcCode: 4 });
  });
});
