import { expect, test } from 'vitest';
import { startDemoProvider } from '../support/demo-provider.ts';
import { freePort } from '../support/free-port.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { type IdentitySettings, startIdentityGateway } from '../support/identity-gateway.ts';
import { GLOBAL_FIELDS, rateFieldsOf, rateOf, refusalOf } from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts, startScriptedProvider } from '../support/scripted-provider.ts';
import { codeFor, redeem, redeeming } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Response } from '../support/wire/index.ts';

/** Both endpoints, each with a request that is in order as far as the gateway can tell before it asks the provider. */
const ENDPOINTS = {
  'authorize-url': head('GET /v1/anonymous/authorize-url'),
  auth: redeeming({ code: 'no-such-code', redirectUri: 'https://app.example/callback' }),
};
const BOTH = Object.entries(ENDPOINTS);
/** The canonical path counts, not how it is written. */
const SPELT = ENDPOINTS['authorize-url'].replace('/anonymous/authorize', '/Anonymous/%61uthorize');

async function start(settings: Partial<IdentitySettings> = {}): Promise<LocalGateway> {
  const provider = await startDemoProvider();
  const { gateway } = await startIdentityGateway({ issuer: provider.issuer, ...settings });
  await gateway.ready();
  return gateway;
}

/** That this response is the error object, whatever else it is. */
function expectObject(response: Response, status: number, code: number): Record<string, unknown> {
  expect(response.status, response.body.toString()).toBe(status);
  expect(header(response, 'content-type')).toBe('application/json');
  expect(header(response, 'content-length')).toBe(String(response.bodyBytes));
  const body: Record<string, unknown> = JSON.parse(response.body.toString());
  expect(body).toMatchObject({ code, message: expect.any(String), details: expect.any(Array) });
  return body;
}

/** What a 429 says beside. */
function expectRefusal(response: Response, global: boolean): void {
  expectObject(response, 429, 8);
  const members = ['code', 'details', 'global', 'message', 'retry_after'];
  expect(Object.keys(refusalOf(response)).sort()).toEqual(members);
  expect(refusalOf(response)).toMatchObject({ global, details: [] });
}

function expectUnavailable(response: Response): void {
  expectObject(response, 503, 14);
  expect(header(response, 'retry-after')).toBe('1');
}

test('both endpoints serve, and report a wrong request as the error object', async () => {
  const provider = await startDemoProvider();
  const redirectUri = provider.callbackUri;
  const { gateway } = await startIdentityGateway({ issuer: provider.issuer, redirectUri });
  await gateway.ready();
  expect((await gateway.ask(ENDPOINTS['authorize-url'])).status).toBe(200);
  const code = await codeFor(gateway, redirectUri);
  expect((await redeem(gateway, code, redirectUri)).status).toBe(200);
  expectObject(await redeem(gateway, code, redirectUri), 400, 3);
  expectObject(await gateway.ask(redeeming({ code: 7 })), 400, 3);
  expectObject(await gateway.ask(head('PUT /v1/anonymous/auth')), 405, 3);
  expectObject(await gateway.ask(head('DELETE /v1/anonymous/authorize-url')), 405, 3);
  expectObject(await gateway.ask(withBody('POST /v1/anonymous/auth', 'a', 'Content-Type: a/b')), 415, 3);
  expectObject(await gateway.ask(withBody('POST /v1/anonymous/auth', 'x'.repeat(65_537))), 413, 3);
});

test.each(BOTH)('%s: a refusal by a bucket is the error object', async (endpoint, request) => {
  const gateway = await start({
    limits: {
      buckets: { sign_in: { address: '1/60s' } },
      routes: { [`/v1/anonymous/${endpoint}`]: 'sign_in' },
    },
  });
  expect(rateOf(await gateway.ask(request))).toMatchObject({ limit: 1, remaining: 0 });
  const refused = await gateway.ask(request);
  expectRefusal(refused, false);
  expect(rateOf(refused).remaining).toBe(0);
});

test.each([...BOTH, ['a preflight', preflight()] as const])(
  '%s: a refusal by the global limit is the error object',
  async (_, request) => {
    const gateway = await start({
      limits: { global: { address: '1/60s' } },
      config: { cors: { origins: ['https://a.example'] } },
    });
    await gateway.ask(request);
    const refused = await gateway.ask(request);
    expectRefusal(refused, true);
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
  },
);

function preflight(): string {
  const asking = ['Origin: https://a.example', 'Access-Control-Request-Method: POST'];
  return head('OPTIONS /v1/anonymous/auth', ...asking);
}

test.each([...BOTH, ['another spelling', SPELT] as const])(
  '%s: a restricted address is refused with the error object',
  async (_, request) => {
    const gateway = await start({ limits: { invalid_requests: { limit: '1/60s', restrict_for: '60s' } } });
    await gateway.ask(head('GET /a'));
    await gateway.ask(head('GET /a'));
    const refused = await gateway.ask(request);
    expectRefusal(refused, true);
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    expect(header(refused, 'via')).toBeUndefined();
    const elsewhere = await gateway.ask(head('GET /a'));
    expect(refusalOf(elsewhere)).toEqual({
      message: expect.any(String),
      retry_after: expect.any(Number),
      global: true,
      code: 8,
    });
  },
);

test('auth: an address that is restricted while the provider is asked is refused with the error object', async () => {
  const provider = await startScriptedProvider();
  provider.token = scripts.hang;
  const { gateway } = await startIdentityGateway({
    issuer: provider.issuer,
    limits: { invalid_requests: { limit: '1/60s', restrict_for: '60s' } },
  });
  const isReady = async () => (await gateway.ask(ENDPOINTS['authorize-url'])).status === 200;
  await waitFor('the provider is known', isReady);
  const client = await gateway.connect();
  await client.send(ENDPOINTS.auth);
  await waitFor('the provider is asked', () => provider.tokenRequests.length > 0);
  await gateway.ask(head('GET /a'));
  await gateway.ask(head('GET /a'));
  expectRefusal(await inTime(gateway.time, client.answer()), true);
});

test.each(BOTH)('%s: a 503 for limits that cannot be asked is the error object', async (_, request) => {
  const store = { redis: `redis://127.0.0.1:${await freePort()}`, on_failure: 'closed' };
  const provider = await startDemoProvider();
  const { gateway } = await startIdentityGateway({
    issuer: provider.issuer,
    limits: { global: { address: '5/1s' } },
    config: { store },
  });
  expectUnavailable(await gateway.ask(request));
});

async function inFlight(gateway: LocalGateway): Promise<number> {
  return (await gateway.metric('weir_requests_in_flight')).get('') ?? 0;
}

test.each(BOTH)('%s: a 503 for want of room is the error object', async (_, request) => {
  for (const caps of [{ requests: 1 }, { requests_per_address: 1 }]) {
    const gateway = await start({ config: { caps }, upstream: async exchange => void (await exchange.gone) });
    const busy = await gateway.connect();
    await busy.send(withBody('POST /v1/anonymous/auth', '{}').slice(0, -1));
    await waitFor('it is in flight', async () => (await inFlight(gateway)) === 1);
    expectUnavailable(await gateway.ask(request));
    busy.destroy();
  }
});
