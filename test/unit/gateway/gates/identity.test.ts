import { describe, expect, test } from 'vitest';
import { ConnectionMemory, errors } from '../../../../src/gateway/index.ts';
import type { RequestIdentity } from '../../../../src/gateway/runtime/index.ts';
import type { Verdict } from '../../../../src/identity/auth/index.ts';
import { bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { fieldOf, GLOBAL_FIELDS, rateFieldsOf, refusalOf } from '../../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const FORGED: Sending = { fields: ['Authorization', 'Bearer forged'] };
const MAYBE = { path: '/maybe', authentication: 'optional' };

describe('a request without a valid token', () => {
  test('has a record that says why, and the address for its caller', async () => {
    const bare = await bareGateway();
    await bare.ask('GET /a', FORGED);
    expect(bare.records[0]).toMatchObject({
      ...{
        status: 401,
        caller: { class: 'address', principal: null },
        tokenRefused: { reason: 'malformed' },
      },
    });
  });
});

describe('a token that cannot be judged', () => {
  const of = (verdict: Verdict | Promise<Verdict>) => bareGateway({}, { verdict, routes: [MAYBE] });

  test.each([
    ['at once', (verdict: Verdict) => verdict],
    ['later', (verdict: Verdict) => Promise.resolve(verdict)],
  ])(
    'is no 401: 503 while keys are unreachable, 429 once its address has spent its budget, %s',
    async (_, when) => {
      const unavailable = await of(when({ kind: 'unavailable', retryAfterMs: 4_001 }));
      for (const line of ['GET /a', 'GET /maybe']) {
        const response = await unavailable.ask(line, FORGED);
        expect([response.status, fieldOf(response, 'retry-after')]).toEqual([503, '5']);
      }
      const spent = await of(when({ kind: 'spent', retryAfterMs: 3_500_500 }));
      for (const line of ['GET /a', 'GET /maybe', 'HEAD /a']) {
        const response = await spent.ask(line, FORGED);
        expect([response.status, fieldOf(response, 'retry-after')]).toEqual([429, '3501']);
        expect(rateFieldsOf(response)).toEqual(GLOBAL_FIELDS);
        expect(fieldOf(response, 'www-authenticate')).toBeUndefined();
      }
      expect(spent.requests).toEqual([]);
      // Without a token it is only a client without a token.
      expect((await spent.ask('GET /a')).status).toBe(401);
      expect((await spent.ask('GET /maybe')).status).toBe(200);
      expect((await spent.ask('GET /open/a', FORGED)).status).toBe(200);
    },
  );
});

describe('a token that came before on its connection', () => {
  test('is not verified again, and each other token is', async () => {
    const bare = await bareGateway();
    const on = new ConnectionMemory(true);
    for (const sending of [ALICE, ALICE, BOB, FORGED, ALICE]) await bare.ask('GET /a', { ...sending, on });
    expect(bare.records.map(({ caller }) => caller.principal)).toEqual([
      ...['user:app alice', 'user:app alice', 'user:app bob', null, 'user:app alice'],
    ]);
    expect(on.token?.caller.principal).toBe('user:app alice');
  });
});

describe('a blocked client', () => {
  const blocked = {
    addresses: ['198.51.100.0/24', '2001:db8:5::/48'],
    callers: [{ client: 'app', subject: 'alice' }],
  };
  const whole = (message: string) => ({ message, retry_after: 65_535, global: true, code: 8 });

  test('of a listed address is refused everywhere, without Via and with the longest wait', async () => {
    const bare = await bareGateway({ blocked, ipv6_prefix: 48 });
    for (const line of ['GET /a', 'GET /open/a', 'TRACE /a', 'GET /a//b']) {
      const response = await bare.ask(line, { ...BOB, from: '198.51.100.7' });
      expect(refusalOf(response), line).toEqual(whole('Your address is blocked.'));
      expect(fieldOf(response, 'via')).toBeUndefined();
    }
    expect((await bare.ask('GET /open/a', { from: '2001:db8:5:77::1' })).status).toBe(429);
    expect((await bare.ask('GET /open/a', { from: '2001:db8:6:77::1' })).status).toBe(200);
  });

  test('that is a listed caller is refused where its token is looked at, and it is no invalid request', async () => {
    const bare = await bareGateway({ blocked });
    const response = await bare.ask('GET /a', ALICE);
    expect(refusalOf(response)).toEqual(whole('You are blocked.'));
    expect(fieldOf(response, 'via')).toBe('1.1 weir');
    expect((await bare.ask('GET /a', BOB)).status).toBe(200);
    expect((await bare.ask('GET /open/a', ALICE)).status).toBe(200);
    expect(bare.told.map(([event]) => event)).not.toContain('invalid');
    expect(bare.records[0]?.restriction).toMatchObject({ by: 'blocked_caller' });
  });

  test('is spared where never_restrict lists it, too', async () => {
    const bare = await bareGateway({
      blocked,
      never_restrict: [{ client: 'app', subject: 'alice' }, '198.51.100.7'],
    });
    expect((await bare.ask('GET /a', { ...ALICE, from: '198.51.100.7' })).status).toBe(200);
  });
});

describe('a token that the provider is asked about', () => {
  const settings = { routes: [{ path: '/asked', introspection: { cache: '10s' } }] };
  const provider = {
    identity_provider: {
      issuer: 'https://id.test',
      client_id: 'gateway',
      client_secret_file: 'client-secret',
      redirect_uri: 'https://a.test/callback',
    },
  };

  test.each([
    ['at once', <T>(said: T) => said],
    ['later', <T>(said: T) => Promise.resolve(said)],
  ])(
    'is served if it is active, refused if not, and neither if the provider does not say: %s',
    async (_, when) => {
      let said: 'active' | 'inactive' | ReturnType<typeof errors.keysUnreachable> = 'active';
      const asked: number[] = [];
      const introspect: RequestIdentity['introspect'] = (_caller, _token, maxAgeMs) => {
        asked.push(maxAgeMs);
        return when(said);
      };
      const bare = await bareGateway({}, { ...settings, config: provider, introspect });
      expect((await bare.ask('GET /asked', ALICE)).status).toBe(200);
      expect((await bare.ask('GET /a', ALICE)).status).toBe(200);
      expect(asked).toEqual([10_000]);
      said = 'inactive';
      const refused = await bare.ask('GET /asked', ALICE);
      expect([refused.status, fieldOf(refused, 'www-authenticate')]).toEqual([
        401,
        'Bearer error="invalid_token"',
      ]);
      expect(bare.records.at(-1)).toMatchObject({
        tokenRefused: { reason: 'inactive', principal: 'user:app alice' },
        caller: { class: 'address', principal: null },
      });
      said = errors.keysUnreachable(1_000);
      expect((await bare.ask('GET /asked', BOB)).status).toBe(503);
      expect((await bare.ask('GET /asked')).status).toBe(401);
      expect(asked).toHaveLength(3);
    },
  );
});
