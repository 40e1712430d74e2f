import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { askOnce, askTimes, fieldOf, rateFieldsOf, startLimited, statusesOf } from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { names, type Script, startUpstream } from '../support/wire/index.ts';

const ORIGIN = 'Origin: https://app.example';
const PREFLIGHT = [
  ORIGIN,
  'Access-Control-Request-Method: PUT',
  'Access-Control-Request-Headers: authorization',
];

const limits = {
  global: { user: '10000/1s', address: '4/60s' },
  buckets: { all: { user: '2/60s' } },
  routes: { '/things/**': 'all' },
};
const cors = { origins: ['https://app.example'] };
const start = (config = {}) => startLimited(limits, { config: { cors, ...config } });

describe('a preflight', () => {
  test('is answered without a token and without the upstream', async () => {
    const front = await start();
    const response = await askOnce(front, 'OPTIONS /things/1', ...PREFLIGHT);
    expect(response.status).toBe(204);
    expect(fieldOf(response, 'access-control-allow-origin')).toBe('https://app.example');
    expect(fieldOf(response, 'access-control-allow-methods')).toBe('PUT');
    expect(fieldOf(response, 'access-control-allow-headers')).toBe('authorization');
    expect(fieldOf(response, 'via')).toBe('1.1 weir');
    expect(rateFieldsOf(response)).toEqual([]);
    expect(front.upstream.requests).toHaveLength(0);
  });

  test('is counted in the metric of decisions, as that of an address without a bucket', async () => {
    const front = await start();
    const responses = await askTimes(front, 5, 'OPTIONS /things/1', ...PREFLIGHT);
    expect(fieldOf(responses[4], 'access-control-allow-origin')).toBe('https://app.example');
    const { text } = await front.gateway.admin('/metrics');
    const counted = 'weir_limit_decisions_total{bucket="none",class="address",outcome=';
    expect(text).toContain(`${counted}"admitted"} 4`);
    expect(text).toContain(`${counted}"global"} 1`);
  });

  test('never counts as an invalid request', async () => {
    const front = await startLimited(
      { ...limits, invalid_requests: { limit: '3/60s', restrict_for: '60s' } },
      { config: { cors } },
    );
    await askTimes(front, 20, 'OPTIONS /things/1', ...PREFLIGHT);
    expect((await askOnce(front, 'GET /things/1', front.issuer.bearer())).status).toBe(200);
  });

  test('of another origin is not allowed', async () => {
    const front = await start();
    const response = await askOnce(
      front,
      'OPTIONS /things/1',
      'Origin: https://evil.example',
      ...PREFLIGHT.slice(1),
    );
    expect(fieldOf(response, 'access-control-allow-origin')).toBeUndefined();
    expect(front.upstream.requests).toHaveLength(0);
  });

  test.each(['FOO', 'put', 'PUT<', 'TRACE', 'CONNECT', 'DELETE'])(
    'for a method that its route does not serve is not allowed: %s',
    async method => {
      const upstream = await startUpstream();
      const routes = [
        { path: '/all/**', upstream: 'api', authentication: 'none' },
        { path: '/two/**', upstream: 'api', authentication: 'none', methods: ['GET', 'OPTIONS'] },
      ];
      const gateway = await startGateway({ upstreamPort: upstream.port, config: { cors, routes } });
      const path = method === 'DELETE' ? '/two/1' : '/all/1';
      const response = await gateway.ask(
        head(`OPTIONS ${path}`, ORIGIN, `Access-Control-Request-Method: ${method}`),
      );
      expect(response.status).toBe(204);
      expect(names(response.fields).filter(name => /^access-control-/i.test(name))).toEqual([]);
      expect(upstream.requests).toEqual([]);
    },
  );

  test.each([
    ['POST /v1/anonymous/auth', true],
    ['DELETE /v1/anonymous/auth', false],
    ['GET /v1/anonymous/authorize-url', true],
    ['POST /v1/anonymous/authorize-url', false],
  ])('to an anonymous endpoint lists the method of that endpoint: %s', async (methodAndPath, leave) => {
    const [method, path] = methodAndPath.split(' ');
    const front = await start();
    const response = await askOnce(
      front,
      `OPTIONS ${path}`,
      ORIGIN,
      `Access-Control-Request-Method: ${method}`,
    );
    expect(response.status).toBe(204);
    expect(fieldOf(response, 'access-control-allow-methods')).toBe(leave ? method : undefined);
  });

  test('repeats nothing but names of fields', async () => {
    const front = await start();
    const response = await askOnce(
      front,
      'OPTIONS /things/1',
      ...PREFLIGHT.slice(0, 2),
      'Access-Control-Request-Headers: x y"<>',
    );
    expect(response.status).toBe(204);
    expect(names(response.fields).filter(name => /^access-control-/i.test(name))).toEqual([]);
  });

  test('is an ordinary request where no rules are set', async () => {
    const front = await startLimited(limits);
    const response = await askOnce(front, 'OPTIONS /things/1', ...PREFLIGHT, front.issuer.bearer());
    expect(response.status).toBe(200);
    expect(front.upstream.onlyRequest.method).toBe('OPTIONS');
  });
});

describe('an OPTIONS that is not a preflight', () => {
  const upload = { path: '/upload', methods: ['POST'], authentication: 'none' };

  test.each([
    ['no Origin', []],
    ['an empty Origin', ['Origin:']],
    ['an Origin that Connection names', [ORIGIN, 'Connection: Origin']],
  ])('does not pass by the route of the method it asks for: %s', async (_, lines) => {
    const front = await startLimited(limits, { config: { cors }, routes: [upload] });
    const asks = ['Access-Control-Request-Method: POST', ...lines];
    const { status } = await front.gateway.ask(withBody('OPTIONS /upload', '{"act":true}', ...asks));
    expect(status).toBe(401);
    expect(front.upstream.requests).toEqual([]);
  });

  test('is counted and limited as a WebSocket', async () => {
    const front = await start();
    const lines = ['Access-Control-Request-Method: PUT', front.issuer.bearer()];
    const responses = await askTimes(front, 3, 'OPTIONS /things/1', ...lines);
    expect(statusesOf(responses)).toEqual([200, 200, 429]);
    expect(front.upstream.requests.map(request => request.method)).toEqual(['OPTIONS', 'OPTIONS']);
  });

  test('gets 404 if no route takes OPTIONS, whatever it asks for', async () => {
    const upstream = await startUpstream();
    const routes = [{ ...upload, upstream: 'api' }];
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { cors, routes } });
    const asks = 'Access-Control-Request-Method: POST';
    expect((await gateway.ask(head('OPTIONS /upload', asks))).status).toBe(404);
    expect((await gateway.ask(head('OPTIONS /upload', asks, ORIGIN))).status).toBe(204);
    expect(upstream.requests).toEqual([]);
  });
});

describe('a preflight for a route that leaves them to its service', () => {
  const own = { path: '/own/**', methods: ['POST'], cors: false };
  const startOwn = (more: Record<string, unknown> = {}, upstream?: Script) =>
    startLimited(
      { ...limits, invalid_requests: { limit: '3/60s', restrict_for: '60s' } },
      { config: { cors }, routes: [{ ...own, ...more }], ...(upstream && { upstream }) },
    );
  const asks = (method: string) => [ORIGIN, `Access-Control-Request-Method: ${method}`];

  test.each(['required', 'optional', 'none'])(
    'goes upstream as OPTIONS, without a body and without Authorization: %s',
    async authentication => {
      const front = await startOwn({ authentication }, exchange => exchange.answer(204, ['X-Mine', 'yes']));
      const lines = [...asks('POST'), front.issuer.bearer()];
      const client = await front.gateway.connect();
      const response = await client.ask(withBody('OPTIONS /own/1?a=b', '{"act":true}', ...lines));
      expect(response.status).toBe(204);
      expect(fieldOf(response, 'x-mine')).toBe('yes');
      expect(fieldOf(response, 'access-control-allow-origin')).toBeUndefined();
      const { method, target, fields, body } = front.upstream.onlyRequest;
      expect({ method, target, body: body.toString() }).toEqual({
        method: 'OPTIONS',
        target: '/own/1?a=b',
        body: '',
      });
      const sent = names(fields).map(name => name.toLowerCase());
      expect(sent).not.toContain('authorization');
      expect(sent).not.toContain('x-auth-subject');
      expect(sent).not.toContain('content-length');
      expect(sent).not.toContain('transfer-encoding');
      await client.ask(head('GET /things/1', front.issuer.bearer()));
      expect(front.upstream.requests.map(request => request.target)).toEqual(['/own/1?a=b', '/things/1']);
    },
  );

  test('finds it by any method that no other route there takes', async () => {
    const bare = { path: '/**', methods: ['GET'], upstream: 'api', authentication: 'none' };
    const upstream = await startUpstream();
    const routes = [bare, { ...own, upstream: 'api', authentication: 'none' }];
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { cors, routes } });
    expect((await gateway.ask(head('OPTIONS /own/1', ...asks('DELETE')))).status).toBe(200);
    expect(upstream.onlyRequest.method).toBe('OPTIONS');
    expect((await gateway.ask(head('OPTIONS /own/1', ...asks('GET')))).status).toBe(204);
    expect((await gateway.ask(head('OPTIONS /else', ...asks('DELETE')))).status).toBe(404);
    expect(upstream.requests).toHaveLength(1);
  });

  test('draws only on the global limit of its address', async () => {
    const front = await startOwn();
    const responses = await askTimes(front, 5, 'OPTIONS /own/1', ...asks('POST'));
    expect(statusesOf(responses)).toEqual([200, 200, 200, 200, 429]);
    expect(fieldOf(responses[4], 'x-ratelimit-global')).toBe('true');
    expect(front.upstream.requests).toHaveLength(4);
  });

  test.each([401, 403, 429])('never counts as invalid, though the service answers %i', async status => {
    const front = await startOwn({}, exchange =>
      exchange.answer(exchange.request.method === 'OPTIONS' ? status : 200),
    );
    const [lines, bearer] = [asks('POST'), front.issuer.bearer()];
    await askTimes(front, 4, 'OPTIONS /own/1', ...lines);
    expect((await askOnce(front, 'GET /things/1', bearer)).status).toBe(200);
  });

  test('does not suggest that a webhook was deleted', async () => {
    const webhook = {
      path: '/hooks/{id}',
      methods: ['POST'],
      authentication: 'none',
      webhook: true,
      cors: false,
    };
    const front = await startLimited(
      { webhook_not_found: { limit: '1/60s', restrict_for: '60s' } },
      {
        config: { cors },
        routes: [webhook],
        upstream: exchange => exchange.answer(exchange.request.method === 'OPTIONS' ? 404 : 200),
      },
    );
    await askTimes(front, 4, 'OPTIONS /hooks/1', ...asks('POST'));
    expect((await askOnce(front, 'POST /hooks/1')).status).toBe(200);
  });
});

describe('a response to a script of the origin', () => {
  test.each([
    ['of the upstream', 200, 1, true],
    ['that refuses for the bucket', 429, 3, true],
    ['without a token', 401, 1, false],
  ] as const)('%s may be read, with the headers of limits', async (_, status, times, withToken) => {
    const front = await start();
    const lines = withToken ? [ORIGIN, front.issuer.bearer()] : [ORIGIN];
    const response = (await askTimes(front, times, 'GET /things/1', ...lines)).at(-1);
    expect(response?.status).toBe(status);
    expect(fieldOf(response, 'access-control-allow-origin')).toBe('https://app.example');
    expect(fieldOf(response, 'access-control-expose-headers')).toContain('X-RateLimit-Remaining');
    expect(fieldOf(response, 'vary')).toContain('Origin');
  });

  test("carries the gateway's rules in place of the upstream's", async () => {
    const front = await startLimited(limits, {
      config: { cors },
      upstream: exchange => exchange.answer(200, ['Access-Control-Allow-Origin', '*']),
    });
    const response = await askOnce(front, 'GET /things/1', ORIGIN, front.issuer.bearer());
    expect(fieldOf(response, 'access-control-allow-origin')).toBe('https://app.example');
  });

  test('exposes what the service does, and what the configuration names besides', async () => {
    const front = await startLimited(limits, {
      config: { cors: { ...cors, expose_headers: ['X-Total'] } },
      upstream: exchange =>
        exchange.answer(201, [
          'Access-Control-Expose-Headers',
          'Location, X-Request-Id',
          'Location',
          '/files/1',
        ]),
    });
    const response = await askOnce(front, 'GET /things/1', ORIGIN, front.issuer.bearer());
    expect(fieldOf(response, 'access-control-expose-headers')).toMatch(
      /, WWW-Authenticate, Location, X-Total$/,
    );
    const foreign = await askOnce(
      front,
      'GET /things/1',
      'Origin: https://evil.example',
      front.issuer.bearer(),
    );
    expect(fieldOf(foreign, 'access-control-expose-headers')).toBeUndefined();
  });

  test('is left to the upstream on a route that says so', async () => {
    const front = await startLimited(limits, {
      config: { cors },
      routes: [{ path: '/own/**', cors: false }],
      upstream: exchange => exchange.answer(200, ['Access-Control-Allow-Origin', 'https://theirs.example']),
    });
    const response = await askOnce(front, 'GET /own/1', ORIGIN, front.issuer.bearer());
    expect(fieldOf(response, 'access-control-allow-origin')).toBe('https://theirs.example');
  });
});
