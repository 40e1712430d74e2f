import { describe, expect, test } from 'vitest';
import {
  askOnce,
  askTimes,
  BUCKET_FIELDS,
  fieldOf,
  GLOBAL_FIELDS,
  type LimitedGateway,
  rateFieldsOf,
  rateOf,
  refusalOf,
  startLimited,
} from '../support/limits.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeeming } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { aMinuteAgo } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { type Response, type Script, values } from '../support/wire/index.ts';

// Which response carries what: docs/contract.md, 4.7, row by row.

const WITH_WAIT = ['retry-after', ...BUCKET_FIELDS];

const limits = {
  buckets: {
    all: { user: '50/60s', scope: 'user' },
    one: { user: '1/60s' },
    shared: { user: '1/60s' },
    sign_in: { address: '3/60s' },
  },
  routes: {
    '/**': 'all',
    '/one': 'one',
    'GET /shared': 'shared',
    'POST /shared': 'shared',
    '/v1/anonymous/**': 'sign_in',
  },
};
const routes = [
  { path: '/small', max_body: '10B' },
  { path: '/quick', timeouts: { first_byte: '100ms' } },
  { path: '/hooks/{id}', authentication: 'none', webhook: true },
];

/** What the upstream does at each path; elsewhere it answers 200. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  '/created': exchange => exchange.answer(201, ['Retry-After', 'Thu, 01 Jan 2026 00:00:05 GMT'], 'made'),
  '/nothing': exchange => exchange.answer(204),
  '/stale': exchange => exchange.answer(304),
  '/forbidden': exchange => exchange.answer(403, ['X-RateLimit-Global', 'true']),
  '/broken': exchange => exchange.answer(503, ['Retry-After', '9', 'X-RateLimit-Scope', 'global']),
  '/chunked': exchange =>
    exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'),
  '/reset': ({ connection }) => connection.reset(),
  '/held': exchange => exchange.gone,
  '/quick': exchange => exchange.gone,
  '/gone': exchange => exchange.answer(404),
};

function start(more: object = {}, settings: object = {}): Promise<LimitedGateway> {
  const upstream: Script = exchange => (SCRIPTS[exchange.request.target] ?? (it => it.answer(200)))(exchange);
  return startLimited({ ...limits, ...more }, { routes, upstream, ...settings });
}

/** What every response has, and what only some may have. */
function expectForm(response: Response, family: readonly string[], via = '1.1 weir'): void {
  expect(rateFieldsOf(response)).toEqual([...family].sort());
  expect(values(response.fields, 'via').join()).toBe(via);
  expect(Date.parse(fieldOf(response, 'date') ?? '')).not.toBeNaN();
  expect(fieldOf(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  if (family.includes('x-ratelimit-limit')) rateOf(response);
  if (response.status === 429) refusalOf(response);
}

describe("a service's response carries the headers of its bucket", () => {
  test('whatever its status is', async () => {
    const front = await start();
    for (const [target, status, family] of [
      ['GET /anything', 200, BUCKET_FIELDS],
      ['HEAD /anything', 200, BUCKET_FIELDS],
      ['GET /chunked', 200, BUCKET_FIELDS],
      ['GET /created', 201, WITH_WAIT],
      ['GET /nothing', 204, BUCKET_FIELDS],
      ['GET /stale', 304, BUCKET_FIELDS],
      ['GET /forbidden', 403, BUCKET_FIELDS],
      ['GET /broken', 503, WITH_WAIT],
    ] as const) {
      const response = await askOnce(front, target, front.issuer.bearer({ sub: target }));
      expect(response.status, target).toBe(status);
      expectForm(response, family);
      expect(rateOf(response)).toMatchObject({ limit: 50, remaining: 49, scope: 'user' });
    }
  });

  test('on HTTP/1.0 as well', async () => {
    const front = await start();
    const request = head('GET /chunked', front.issuer.bearer()).replace('HTTP/1.1', 'HTTP/1.0');
    expectForm(await front.gateway.ask(request), BUCKET_FIELDS);
  });
});

test('an error after admission carries the headers of its bucket', async () => {
  const front = await start();
  const bearer = front.issuer.bearer();
  for (const [status, request] of [
    [413, withBody('POST /small', 'x'.repeat(11), bearer)],
    [413, inChunks('POST /small', ['x'.repeat(11)], bearer)],
    [502, head('GET /reset', bearer)],
    [504, head('GET /quick', bearer)],
  ] as const) {
    const asked = front.gateway.ask(request);
    const response = await (status === 504 ? inTime(front.gateway.time, asked) : asked);
    expect(response.status).toBe(status);
    expectForm(response, BUCKET_FIELDS);
  }
});

test('a response of a limited sign-in endpoint carries the headers of its bucket, unless the gateway is unavailable', async () => {
  const front = await start();
  front.issuer.provider.token = scripts.json(400, { error: 'invalid_grant' });
  const request = redeeming({ code: 'c', redirectUri: 'https://app.example/callback' });
  const refused = await front.gateway.ask(request);
  expect(refused.status).toBe(400);
  expectForm(refused, BUCKET_FIELDS);
  expectForm(await front.gateway.ask(head('GET /v1/anonymous/authorize-url')), BUCKET_FIELDS);
  front.issuer.provider.token = scripts.json(503, {});
  const unavailable = await front.gateway.ask(request);
  expect(unavailable.status).toBe(503);
  expectForm(unavailable, ['retry-after']);
  expectForm(await front.gateway.ask(request), WITH_WAIT);
});

describe('a 429', () => {
  test('of a bucket carries its headers and a wait', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    for (const [target, scope] of [
      ['GET /one', 'user'],
      ['GET /shared', 'shared'],
      ['HEAD /shared', 'shared'],
    ] as const) {
      const responses = await askTimes(front, 2, target.replace('HEAD', 'GET'), bearer);
      const response = target.startsWith('HEAD') ? await askOnce(front, target, bearer) : responses[1];
      expect(rateOf(response)).toMatchObject({ remaining: 0, scope });
      expect(rateFieldsOf(response)).toEqual(WITH_WAIT);
    }
  });

  test('of the global limit, and of failed verifications, carries the three headers of the global limit', async () => {
    const front = await start({ global: { user: '1/60s' }, failed_verifications: '1/60s' });
    const [, refused] = await askTimes(front, 2, 'GET /a', front.issuer.bearer());
    if (refused !== undefined) expectForm(refused, GLOBAL_FIELDS);
    let made = 0;
    const forged = () => `${front.issuer.bearer({ ...aMinuteAgo(), jti: `${++made}` }).slice(0, -4)}AAAA`;
    let response = await askOnce(front, 'GET /a', forged());
    for (let i = 0; response.status === 401 && i < 50; i++)
      response = await askOnce(front, 'GET /a', forged());
    expectForm(response, GLOBAL_FIELDS);
    expect(refusalOf(response)).not.toHaveProperty('code');
  });
});

describe('the gateway says nothing of a bucket', () => {
  test.each([
    ['400', head('GET //a')],
    ['401', head('GET /a')],
    ['404', head('GET /v1/anonymous/other')],
    ['204', head('OPTIONS /a', 'Origin: https://a.example', 'Access-Control-Request-Method: GET')],
  ])('with a %s', async (status, request) => {
    const front = await start({}, { config: { cors: { origins: ['https://a.example'] } } });
    const response = await front.gateway.ask(request);
    expect(String(response.status)).toBe(status);
    expectForm(response, []);
  });

  test('with a 503, which has a wait', async () => {
    const front = await start({}, { api: { max_requests: 1 } });
    const busy = await front.gateway.connect();
    await busy.send(head('GET /held', front.issuer.bearer({ sub: 'bob' })));
    await waitFor('it is held', () => front.upstream.requests.length === 1);
    const response = await askOnce(front, 'GET /a', front.issuer.bearer());
    expect(response.status).toBe(503);
    expectForm(response, ['retry-after']);
  });

  test('with a 503 for want of keys', async () => {
    const front = await start();
    front.issuer.provider.keys = scripts.json(500, {});
    const response = await askOnce(front, 'GET /a', front.issuer.bearer({}, { kid: 'not-known-yet' }));
    expect(response.status).toBe(503);
    expectForm(response, ['retry-after']);
  });
});
