import { describe, expect, test } from 'vitest';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { shared } from '../support/lifetime.ts';
import { handshake } from '../support/raw-web-sockets.ts';
import { head, withBody } from '../support/requests.ts';
import { startUpstream, values } from '../support/wire/index.ts';

/** A gateway with one service under `/api`, and the same one with a path in its URL under `/old`. */
async function start(route: ConfigPart = {}, config: ConfigPart = {}) {
  const upstream = await startUpstream();
  const url = `http://127.0.0.1:${upstream.port}`;
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      upstreams: { api: { url }, base: { url: `${url}/base/v2` } },
      routes: [
        { path: '/api/**', strip_prefix: '/api', upstream: 'api', authentication: 'none', ...route },
        { path: '/old/{id}/**', upstream: 'base', authentication: 'none' },
        { path: '/new/A/**', strip_prefix: '/new/A', upstream: 'base', authentication: 'none' },
      ],
      ...config,
    },
  });
  return { upstream, gateway, targets: () => upstream.requests.map(({ target }) => target) };
}

const started = shared(start);

/** The same, unless a test needs other settings, for all tests. */
async function front(...settings: Parameters<typeof start>) {
  if (settings.length > 0) return await start(...settings);
  const { upstream } = await started();
  await upstream.renew();
  return await started();
}

describe('a service gets', () => {
  test.each([
    ['/api/x', '/x'],
    ['/API/X', '/X'],
    ['/%61pi/%78/', '/x/'],
    ['/api', '/'],
    ['/api/', '/'],
    ['/api?a=/api', '/?a=/api'],
    ['/api/api/x', '/api/x'],
    ['http://gateway.test/api/x', '/x'],
    ['/old/1', '/base/v2/old/1'],
    ['/old/1/?a', '/base/v2/old/1/?a'],
    ['/NEW/a/x', '/base/v2/x'],
    ['/new/a', '/base/v2/'],
  ])('for %s the path %s', async (target, sent) => {
    const { gateway, targets } = await front();
    expect((await gateway.ask(head(`GET ${target}`))).status).toBe(200);
    expect(targets()).toEqual([sent]);
  });

  test('a path without the whole segment where a semicolon is in it', async () => {
    const { gateway, targets } = await front({ semicolons: 'pass' });
    await gateway.ask(head('GET /api;v=1/x;y'));
    expect(targets()).toEqual(['/x;y']);
  });

  test('nothing for a path whose segment only begins like the prefix', async () => {
    const { gateway, upstream } = await front();
    expect((await gateway.ask(head('GET /apis/x'))).status).toBe(404);
    expect((await gateway.ask(head('GET /api%2Fx'))).status).toBe(400);
    expect(upstream.connections).toEqual([]);
  });

  test('the preflights that its route leaves to it, without the prefix too', async () => {
    const cors = { origins: ['https://app.test'] };
    const { gateway, targets } = await front({ cors: false }, { cors });
    const lines = ['Origin: https://app.test', 'Access-Control-Request-Method: PUT'];
    await gateway.ask(head('OPTIONS /api/x', ...lines));
    expect(targets()).toEqual(['/x']);
  });

  test('the handshake of a WebSocket without the prefix', async () => {
    const { gateway, targets } = await front({ websocket: true });
    const client = await gateway.connect();
    await client.send(handshake('/api/live?room=1'));
    await client.answer();
    expect(targets()).toEqual(['/live?room=1']);
  });

  test('both over HTTP/2', async () => {
    const upstream = await startH2Upstream();
    const api = { url: `http://127.0.0.1:${upstream.port}/base`, protocol: 'h2' };
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      api,
      config: {
        routes: [{ path: '/api/**', strip_prefix: '/api', upstream: 'api', authentication: 'none' }],
      },
    });
    expect((await gateway.ask(head('GET /api/x?y'))).status).toBe(200);
    expect(upstream.requests[0]?.headers[':path']).toBe('/base/x?y');
  });
});

test("limits and the log speak of the client's path", async () => {
  const { gateway } = await front({}, { log: { level: 'info' } });
  await gateway.ask(head('GET /api/secret'));
  const [line] = accessLines(gateway);
  expect(line).toMatchObject({ route: '/api/**' });
  expect(String(line?.['path'])).toMatch(/^\/api\//);
});

describe('a Location of the service', () => {
  /** A gateway in front of a service that answers with these fields. `more` are further keys of the route. */
  async function redirecting(fields: readonly string[], more: ConfigPart = {}, status = 302) {
    const upstream = await startUpstream(exchange => exchange.answer(status, fields));
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      api: { url: `http://127.0.0.1:${upstream.port}/base` },
      config: {
        routes: [{ path: '/api/**', strip_prefix: '/api', upstream: 'api', authentication: 'none', ...more }],
      },
    });
    return { upstream, gateway };
  }

  const REWRITE = { rewrite_location: true };

  test('is left alone by default, as cookie paths are in any case', async () => {
    const fields = ['Location', '/base/a', 'Set-Cookie', 'a=b; Path=/base; Domain=gateway.test'];
    const { gateway } = await redirecting(fields);
    expect((await gateway.ask(head('GET /api/x'))).fields).toEqual(expect.arrayContaining(fields));
    const rewriting = await redirecting(fields, REWRITE);
    const { fields: changed } = await rewriting.gateway.ask(head('GET /api/x'));
    expect(values(changed, 'location')).toEqual(['/api/a']);
    expect(values(changed, 'set-cookie')).toEqual(['a=b; Path=/base; Domain=gateway.test']);
  });

  test.each([
    ['location', '/base/a', '/api/a', 308],
    ['Content-Location', '/base/x.en', '/api/x.en', 200],
    ['Location', 'https://other.test/base/a', 'https://other.test/base/a', 302],
    ['Link', '</base/a>; rel=next', '</base/a>; rel=next', 200],
  ])('is turned into the address of the client: %s: %s', async (name, location, changed, status) => {
    const { gateway } = await redirecting([name, location], REWRITE, status);
    const response = await gateway.ask(head('GET /api/x'));
    expect(response.status).toBe(status);
    expect(values(response.fields, name)).toEqual([changed]);
  });

  test('is turned around in an interim response as well, where a resumable upload gets its address', async () => {
    const { upstream, gateway } = await redirecting([], REWRITE, 201);
    await upstream.renew(async exchange => {
      await exchange.send('HTTP/1.1 104 Upload\r\nLocation: /base/uploads/7\r\n\r\n');
      await exchange.answer(201, []);
    });
    const { status, interim } = await gateway.ask(withBody('POST /api/x', 'hello'));
    expect([status, interim.map(({ fields }) => values(fields, 'location'))]).toEqual([
      201,
      [['/api/uploads/7']],
    ]);
  });

  test('names the scheme and host that a trusted proxy tells, where those are a scheme and a host', async () => {
    const upstream = await startUpstream(exchange =>
      exchange.answer(302, ['Location', 'http://api.internal/base/a']),
    );
    const trusting = await startGateway({
      upstreamPort: upstream.port,
      api: { url: `http://127.0.0.1:${upstream.port}/base`, host: 'api.internal' },
      config: {
        trusted_proxies: ['127.0.0.0/8'],
        routes: [
          { path: '/api/**', strip_prefix: '/api', upstream: 'api', authentication: 'none', ...REWRITE },
        ],
      },
    });
    const asked = async (...lines: string[]) =>
      values((await trusting.ask(head('GET /api/x', ...lines))).fields, 'location');
    expect(await asked()).toEqual(['http://gateway.test/api/a']);
    expect(await asked('X-Forwarded-Proto: https', 'X-Forwarded-Host: www.example.com')).toEqual([
      'https://www.example.com/api/a',
    ]);
    expect(await asked('X-Forwarded-Proto: javascript', 'X-Forwarded-Host: a/b')).toEqual([
      'http://gateway.test/api/a',
    ]);
  });
});
