import { describe, expect, test } from 'vitest';
import { ConnectionMemory, errors } from '../../../../src/gateway/index.ts';
import type { RequestIdentity } from '../../../../src/gateway/runtime/index.ts';
import type { Verdict } from '../../../../src/identity/auth/index.ts';
import { bareGateway, type Sending, silence } from '../../../support/bare-gateway.ts';
import {
  fieldOf,
  GLOBAL_FIELDS,
  rateFieldsOf,
  rateOf,
  refusalOf,
  statusesOf,
} from '../../../support/rate-fields.ts';
import type { Response } from '../../../support/wire/index.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const FORGED: Sending = { fields: ['Authorization', 'Bearer forged'] };
const CHALLENGE = 'Bearer error="insufficient_scope", scope="orders.read profile"';
const MAYBE = { path: '/maybe', authentication: 'optional' };
function expectForbidden(response: Response, challenge: string | undefined = CHALLENGE): void {
  expect(JSON.parse(response.body.toString())).toMatchObject({ code: 7 });
  expect([response.status, fieldOf(response, 'www-authenticate')]).toEqual([403, challenge]);
  expect(rateFieldsOf(response)).toEqual([]);
}

describe('a request without a valid token', () => {
  test.each<[string, Sending, string]>([
    ['none', {}, 'Bearer'],
    ['no valid one', FORGED, 'Bearer error="invalid_token"'],
    ['one of another scheme', { fields: ['Authorization', 'Basic eA=='] }, 'Bearer'],
  ])(
    'is 401 where the route requires one, and goes on where it does not: %s',
    async (_, sending, challenge) => {
      const bare = await bareGateway({}, { routes: [MAYBE] });
      const refused = await bare.ask('GET /a', sending);
      expect([refused.status, fieldOf(refused, 'www-authenticate')]).toEqual([401, challenge]);
      expect(bare.requests).toEqual([]);
      const optional = await bare.ask('GET /maybe', sending);
      expect((await bare.ask('GET /open/a', sending)).status).toBe(200);
      expect(optional.status).toBe(200);
      expect(bare.requests[0]?.fields).not.toContain('Authorization');
    },
  );

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

describe('a route that requires rights', () => {
  const routes = [
    { path: '/orders', require: { scopes: ['orders.read', 'profile'] } },
    { path: '/clerks', require: { roles: ['clerk'] } },
    { path: '/optional', authentication: 'optional', require: { scopes: ['orders.read', 'profile'] } },
    {
      path: '/text',
      upstream: undefined,
      respond: { status: 200, body: 'text' },
      authentication: 'required',
      require: { scopes: ['a'] },
    },
  ];
  const scoped = (scope: unknown): Sending => ({ as: { scope } });

  test.each<[unknown, boolean]>([
    ['openid profile orders.read', true],
    ['orders.read profile', true],
    ...['openid profile', 'orders.readall profile', 'Orders.Read profile', '', undefined, 7].map(
      scope => [scope, false] as [unknown, boolean],
    ),
  ])(
    'serves callers who have all of them, and tells others which ones it needs: %j: %j',
    async (scope, isServed) => {
      const bare = await bareGateway({}, { routes });
      for (const line of ['GET /orders', 'GET /optional']) {
        const response = await bare.ask(line, scoped(scope));
        if (isServed) expect(response.status).toBe(200);
        else expectForbidden(response);
      }
    },
  );

  test('needs a token even where it says optional', async () => {
    const bare = await bareGateway({}, { routes });
    expect(statusesOf([await bare.ask('GET /optional'), await bare.ask('GET /optional', FORGED)])).toEqual([
      401, 401,
    ]);
  });

  test('names no roles, and judges each token on a connection by itself', async () => {
    const bare = await bareGateway({}, { routes });
    const on = new ConnectionMemory(true);
    for (const roles of [['clerk'], ['other'], ['clerk'], []]) {
      const response = await bare.ask('GET /clerks', { as: { realm_access: { roles } }, on });
      if (roles[0] === 'clerk') expect(response.status).toBe(200);
      else {
        expect(response.status).toBe(403);
        expect(fieldOf(response, 'www-authenticate')).toBeUndefined();
      }
    }
    expect(bare.records[1]?.error?.cause).toBe('the token lacks roles that the route requires: clerk');
  });

  test('keeps an answer without a service from others as well', async () => {
    const bare = await bareGateway({}, { routes });
    expect(
      statusesOf([
        await bare.ask('GET /text'),
        await bare.ask('GET /text', scoped('b')),
        await bare.ask('GET /text', scoped('a')),
      ]),
    ).toEqual([401, 403, 200]);
  });

  test('has what others ask draw on their global limit only, and learn nothing of a full upstream', async () => {
    const limits = {
      global: { user: '3/1m' },
      buckets: { orders: { user: '9/1m' } },
      routes: { '/orders': 'orders' },
    };
    const bare = await bareGateway(limits, { routes, api: { max_requests: 1 } });
    bare.service = silence;
    const held = bare.send('GET /a', { as: { sub: 'carol' } });
    for (let n = 0; n < 3; n++) expectForbidden(await bare.ask('GET /orders', ALICE));
    expect(fieldOf(await bare.ask('GET /orders', ALICE), 'x-ratelimit-global')).toBe('true');
    held.leave();
    bare.service = (_, sink) => sink.whole(200, '', [], '');
    const served = await bare.ask('GET /orders', { as: { sub: 'bob', scope: 'orders.read profile' } });
    expect(rateOf(served).remaining).toBe(8);
  });

  test('counts what others ask as invalid', async () => {
    const bare = await bareGateway({ invalid_requests: { limit: '2/10m', restrict_for: '10m' } }, { routes });
    for (let n = 0; n < 3; n++) expectForbidden(await bare.ask('GET /orders', ALICE));
    expect((await bare.ask('GET /a', BOB)).status).toBe(429);
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
