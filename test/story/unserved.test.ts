import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGateway, withoutWorkers } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import {
  askOnce,
  askTimes,
  GLOBAL_FIELDS,
  type LimitedGateway,
  rateFieldsOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { header } from '../support/wire/index.ts';

// Answers that the gateway makes without a service draw on the global limit: docs/contract.md, 4.1.

const limits = { global: { user: '4/1h', address: '3/1h' } };
const WEB_SOCKET = [
  ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

describe('what no service answers draws on the global limit of its address', () => {
  test.each<[string, number, string, readonly string[]]>([
    ['a path without a route', 404, 'GET /v1/anonymous/nothing', []],
    ['a method that the gateway does not serve', 405, 'TRACE /open/a', []],
    ['a method that no route serves', 404, 'PURGE /v1/anonymous/nothing', []],
    ['a method that nobody knows', 405, 'BREW /open/a', []],
    ['a known method in lower case', 405, 'get /open/a', []],
    ['a method longer than any', 405, `${'BREW'.repeat(10)} /open/a`, []],
    ['a WebSocket on a route without them', 501, 'GET /open/a', WEB_SOCKET],
    ['an expectation that is not met', 417, 'GET /open/a', ['Expect: wonders']],
  ])('%s: %i, and 429 beyond the limit', async (_, status, target, lines) => {
    const front = await startLimited(limits);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) {
      const response = await askOnce(front, target, ...lines);
      statuses.push(response.status);
      if (response.status === 429) expect(rateFieldsOf(response)).toEqual(GLOBAL_FIELDS);
      else expect(rateFieldsOf(response)).toEqual([]);
    }
    expect(statuses).toEqual([status, status, status, 429]);
    // The limit is the one that its other requests draw on.
    expect((await askOnce(front, 'GET /open/a')).status).toBe(429);
  });

  test('a preflight of a path without a route does, and is never invalid', async () => {
    const front = await startLimited(
      { ...limits, invalid_requests: { limit: '2/1h' } },
      { config: { cors: { origins: 'any' } } },
    );
    const preflight = ['Origin: https://app.example', 'Access-Control-Request-Method: PUT'];
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++)
      statuses.push((await askOnce(front, 'OPTIONS /v1/anonymous/nothing', ...preflight)).status);
    // None of them counts as invalid.
    expect(statuses).toEqual([404, 404, 404, 429, 429, 429, 429]);
  });

  test('but what is no request does not, nor does OPTIONS about the gateway itself', async () => {
    const front = await startLimited(limits);
    for (let i = 0; i < 5; i++) {
      expect((await askOnce(front, 'GET /open/../a')).status).toBe(400);
      expect((await askOnce(front, 'OPTIONS *')).status).toBe(204);
    }
    expect((await askOnce(front, 'GET /open/a')).status).toBe(200);
  });
});

describe('a request with a token that no service answers', () => {
  test('draws on the global limit of its caller where the token is remembered', async () => {
    // Each worker remembers the tokens that it has met.
    withoutWorkers();
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    expect((await askOnce(front, 'GET /things', bearer)).status).toBe(200);
    expect(statusesOf(await askTimes(front, 4, 'GET /v1/anonymous/nothing', bearer))).toEqual([
      404, 404, 404, 429,
    ]);
    expect((await askOnce(front, 'GET /things', bearer)).status).toBe(429);
    // The address has all of its own.
    expect(statusesOf(await askTimes(front, 4, 'GET /v1/anonymous/nothing'))).toEqual([404, 404, 404, 429]);
  });

  test('draws on that of its address where it is not, and nothing is verified', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    expect(statusesOf(await askTimes(front, 4, 'GET /v1/anonymous/nothing', bearer))).toEqual([
      404, 404, 404, 429,
    ]);
    const checked = await front.gateway.counted('weir_signature_checks_total');
    expect([...checked.values()].reduce((sum, count) => sum + count, 0)).toBe(0);
    expect((await askOnce(front, 'GET /things', bearer)).status).toBe(200);
  });
});

/** The statuses of the same request so often, each on a connection of its own. */
async function eachAsked(front: LimitedGateway, times: number, target: string, ...lines: string[]) {
  const statuses: number[] = [];
  for (let i = 0; i < times; i++) statuses.push((await askOnce(front, target, ...lines)).status);
  return statuses;
}

describe('a method that Node does not know', () => {
  test('is answered with the methods there are, and with a body it ends its connection unread', async () => {
    const front = await startLimited(limits);
    const client = await front.gateway.connect();
    await client.send(`${withBody('BREW /open/a', 'x')}${head('GET /open/a')}`);
    const response = await client.answer();
    expectError(response, 405, 3);
    expect(header(response, 'allow')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
    expect(await client.ended()).toBe('close');
    expect(front.upstream.requests).toEqual([]);
  });

  test('draws on the limit of its caller, and of its address behind a trusted proxy', async () => {
    withoutWorkers();
    const front = await startLimited(limits, { config: { trusted_proxies: ['127.0.0.0/8'] } });
    const bearer = front.issuer.bearer();
    expect((await askOnce(front, 'GET /things', bearer)).status).toBe(200);
    expect(await eachAsked(front, 4, 'BREW /things', bearer)).toEqual([405, 405, 405, 429]);
    const from = (address: string) => `X-Forwarded-For: ${address}`;
    for (const address of ['192.0.2.1', '192.0.2.2'])
      expect(await eachAsked(front, 4, 'BREW /things', from(address))).toEqual([405, 405, 405, 429]);
  });

  test('learns of a restriction first', async () => {
    const front = await startLimited({ ...limits, invalid_requests: { limit: '2/1h' } });
    expect(await eachAsked(front, 6, 'BREW /open/a')).toEqual([405, 405, 405, 429, 429, 429]);
    expect((await askOnce(front, 'BREW /open/a')).body.toString()).toContain('temporarily restricted');
  });

  test('is not in the log as it came', async () => {
    const front = await startLimited(limits);
    expect((await askOnce(front, 'BREW /open/a')).status).toBe(405);
    await waitFor('it is logged', () => front.gateway.logLines.some(line => line.includes('"status":405')));
    expect(front.gateway.logLines.join('')).not.toContain('BREW');
  });

  test('is 405 over HTTP/2, then 429, and its connection stays', async () => {
    const front = await startLimited(limits, { config: { listen: H2C } });
    const session = connectHttp2(front.gateway);
    const statuses: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const { status, fields } = await ask(session, { ':method': 'BREW', ':path': '/open/a' });
      statuses.push(status);
      if (status === 405) expect(fields.allow).toContain('GET');
    }
    expect(statuses).toEqual([405, 405, 405, 429]);
    expect(session.closed || session.destroyed).toBe(false);
    expect(front.gateway.logLines.join('')).not.toContain('BREW');
  });
});

test('a request that reached the limits is not drawn twice', async () => {
  const front = await startLimited(limits);
  const client = await front.gateway.connect();
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) {
    const body = head('POST /v1/anonymous/auth', 'Content-Type: text/plain', 'Content-Length: 0');
    statuses.push((await client.ask(body, { to: 'POST' })).status);
  }
  expect(statuses).toEqual([415, 415, 415, 429]);
});

test('a gRPC call without a route is UNIMPLEMENTED, then RESOURCE_EXHAUSTED', async () => {
  const port = await startGrpcServer({});
  const gateway = await startGateway({
    upstreamPort: port,
    config: {
      listen: { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' },
      upstreams: { talk: { url: `http://127.0.0.1:${port}`, protocol: 'grpc' } },
      routes: [{ grpc: 'test.v1.Echo/Talk', upstream: 'talk', authentication: 'none' }],
      limits: await tempText('limits.yaml', 'global: { address: 2/1h }\n'),
    },
  });
  const client = grpcClient(gateway.port);
  const codes: number[] = [];
  for (let i = 0; i < 3; i++) codes.push((await callOnce(client, '/test.v1.Other/Talk')).status.code);
  expect(codes).toEqual([12, 12, 8]);
});
