import { inspect } from 'node:util';
import { ClientError } from 'openid-client';
import { describe, expect, test } from 'vitest';
import type { RedeemOutcome } from '../../../../src/core/index.ts';
import { ProviderFault } from '../../../../src/identity/signin/ask-provider.ts';
import { failureOf, judgeFailure, refusedBy } from '../../../../src/identity/signin/failures.ts';

const refusal = (status: number, members: object, secrets: readonly string[] = []) =>
  refusedBy('token endpoint', { status, body: Buffer.from(JSON.stringify(members)) }, secrets);
const answered = (status: number, error: string) => refusal(status, { error, error_description: 'marker' });
const outcomeOf = (error: unknown) => failureOf('code', error).outcome;

describe('a response of', () => {
  test.each<[number, string, RedeemOutcome]>([
    [400, 'invalid_grant', 'code_refused'],
    [400, 'invalid_request', 'code_refused'],
    [400, 'redirect_uri_mismatch', 'code_refused'],
    [400, 'interaction_required', 'code_refused'],
    [401, 'invalid_client', 'gateway_refused'],
    [400, 'invalid_client', 'gateway_refused'],
    [401, 'unauthorized_client', 'gateway_refused'],
    [400, 'unsupported_grant_type', 'gateway_refused'],
    [400, 'invalid_scope', 'gateway_refused'],
    [400, 'invalid_target', 'gateway_refused'],
    [400, 'invalid_resource', 'gateway_refused'],
    [400, 'unsupported_response_type', 'gateway_refused'],
    [401, 'unsupported_', 'gateway_refused'],
    [401, 'token_inactive', 'code_refused'],
    [400, 'expired_token', 'code_refused'],
    [400, 'login_required', 'code_refused'],
    [400, 'consent_required', 'code_refused'],
    [400, 'account_selection_required', 'code_refused'],
    [400, 'unmet_authentication_requirements', 'code_refused'],
    [403, 'access_denied', 'code_refused'],
    [400, 'something_new', 'code_refused'],
    [401, 'something_new', 'code_refused'],
    [403, 'something_new', 'code_refused'],
    [404, 'something_new', 'gateway_refused'],
    [405, 'something_new', 'gateway_refused'],
    [500, 'something_new', 'broken'],
    [503, 'access_denied', 'broken'],
    // Not the word itself, whatever is left of it in a log.
    [401, 'invalid_client ', 'code_refused'],
    [400, 'invalid_client\u0000', 'code_refused'],
    [400, 'Unsupported_grant_type', 'code_refused'],
    [400, 'constructor', 'code_refused'],
    [400, 'temporarily_unavailable', 'broken'],
    [400, 'server_error', 'broken'],
    [400, 'slow_down', 'broken'],
    [200, 'invalid_grant', 'code_refused'],
    [200, 'invalid_client', 'gateway_refused'],
    [200, 'something_new', 'code_refused'],
    [201, 'invalid_grant', 'code_refused'],
    [429, 'invalid_grant', 'broken'],
    [408, 'invalid_grant', 'broken'],
  ])('%d %s is %s', (status, error, outcome) => expect(outcomeOf(answered(status, error))).toBe(outcome));

  test.each<[number, RedeemOutcome]>([
    [201, 'broken'],
    [302, 'broken'],
    [400, 'broken'],
    [401, 'gateway_refused'],
    [403, 'gateway_refused'],
    [404, 'broken'],
    [413, 'code_refused'],
    [414, 'code_refused'],
    [431, 'code_refused'],
    [500, 'broken'],
    [503, 'broken'],
  ])('%d without an OAuth error is %s', (status, outcome) => {
    for (const text of ['', '<html>', '[]', '{}', '{"error":""}', '{"error":7}'])
      expect(outcomeOf(refusedBy('token endpoint', { status, body: Buffer.from(text) }, []))).toBe(outcome);
  });
});

test.each<[string, number, object, RedeemOutcome, RegExp]>([
  [
    'Supabase',
    400,
    { code: 400, error_code: 'refresh_token_not_found', msg: 'x' },
    'code_refused',
    /400 refresh_token_not_found$/,
  ],
  [
    'Firebase',
    400,
    { error: { code: 400, message: 'TOKEN_EXPIRED', status: 'INVALID_ARGUMENT' } },
    'code_refused',
    /400 TOKEN_EXPIRED$/,
  ],
  ['Okta', 400, { errorCode: 'E0000011', errorSummary: 'x' }, 'code_refused', /400 \[\.\.\.\]$/],
  ['Okta', 401, { errorCode: 'invalid_client', errorSummary: 'x' }, 'gateway_refused', /401 invalid_client$/],
  // Those of proxies on the way are no words of the provider.
  ['AWS', 403, { message: 'Forbidden' }, 'gateway_refused', /403$/],
])('the error of %s is found where it stands: %d %j', (_, status, members, outcome, message) => {
  const fault = refusal(status, members);
  expect(outcomeOf(fault)).toBe(outcome);
  expect(fault.message).toMatch(message);
});

test('a provider that throttles has not used the code, and says how long to wait', () => {
  const throttled = (status: number, retryAfterMs: number) =>
    failureOf('code', refusedBy('token endpoint', { status, retryAfterMs, body: Buffer.from('') }, [])).error;
  expect(throttled(429, 30_000)).toMatchObject({ status: 503, fields: ['Retry-After', '30'] });
  expect(throttled(429, 30_000).message).toContain('The code was not used');
  expect(throttled(429, 0).fields).toEqual(['Retry-After', '5']);
  expect(throttled(503, 60_000)).toMatchObject({ status: 503, fields: ['Retry-After', '60'] });
  expect(throttled(503, 60_000).message).toContain('The code may be spent');
});

describe('whatever part of the error the client sent as its code or redirect URI', () => {
  const parts = (word: string) =>
    Array.from(word, (_, from) => Array.from(word.slice(from), (_, to) => word.slice(from, from + to + 1)));

  test.each([
    ...['invalid_grant', 'invalid_request', 'invalid_client', 'temporarily_unavailable', 'something_new'],
  ])('%s keeps its meaning', word => {
    const alone = outcomeOf(answered(400, word));
    for (const code of new Set(parts(word).flat())) {
      const said = { error: word, error_description: `Look: ${code}` };
      const fault = refusal(400, said, ['gateway-secret', code, code]);
      expect({ code, outcome: outcomeOf(fault) }).toEqual({ code, outcome: alone });
      expect(fault.message).not.toContain(`Look: ${code}`);
    }
  });
});

test.each<[ProviderFault['kind'], RedeemOutcome]>([
  ['unreachable', 'unreachable'],
  ['timed_out', 'timed_out'],
  ['reset', 'broken'],
  ['too_large', 'broken'],
  ['malformed', 'broken'],
  ['nonsense', 'broken'],
])('a fault that is %s is %s', (kind, outcome) => {
  expect(outcomeOf(new ProviderFault(kind, 'why'))).toBe(outcome);
});

test.each([new TypeError('marker'), new ClientError('marker'), 'marker', undefined, null, { marker: 1 }])(
  '%s is a fault of the gateway',
  error => {
    expect(outcomeOf(error)).toBe('fault');
  },
);

test('nothing from an unknown error or from a refusal’s secrets is kept', () => {
  const errors = [
    refusal(400, { error: 'marker', error_description: 'marker marker' }, ['marker']),
    new TypeError('marker', { cause: { body: 'marker' } }),
    Object.assign(new Error('marker'), { name: 'marker' }),
  ];
  for (const error of errors)
    expect(inspect(failureOf('code', error), { depth: 20, showHidden: true })).not.toContain('marker');
});

test.each([
  [400, 'invalid_grant', 'client'],
  [403, 'access_denied', 'client'],
  [401, 'token_inactive', 'client'],
  [400, 'something_new', 'provider'],
  [404, 'something_new', 'gateway'],
  [401, 'invalid_client', 'gateway'],
] as const)('%d %s is told to operators as an error of the %s', (status, word, side) => {
  for (const grant of ['code', 'refresh_token'] as const)
    expect(failureOf(grant, answered(status, word)).error.side).toBe(side);
});

test('an unknown error costs the user a sign-in, whatever the provider calls it, and its words are kept from clients', () => {
  const unknown = answered(403, 'something_new');
  expect(failureOf('refresh_token', unknown)).toMatchObject({
    outcome: 'token_refused',
    error: { status: 401, rpcCode: 16, fields: ['WWW-Authenticate', 'Bearer'] },
  });
  expect(failureOf('code', unknown).error).toMatchObject({ status: 400, rpcCode: 3 });
  expect(failureOf('code', unknown).error.message).not.toContain('something_new');
});

test('a provider that refuses the grant has refused what the request was for', () => {
  const refused = answered(400, 'invalid_grant');
  expect(failureOf('code', refused).outcome).toBe('code_refused');
  expect(failureOf('refresh_token', refused)).toMatchObject({
    outcome: 'token_refused',
    error: { status: 401, rpcCode: 16, side: 'client', fields: ['WWW-Authenticate', 'Bearer'] },
  });
  expect(judgeFailure(refused, 'introspection', 'gateway_refused').outcome).toBe('gateway_refused');
});
