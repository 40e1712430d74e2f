import { describe, expect, test } from 'vitest';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { handshake } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { startUpstream } from '../support/wire/index.ts';

/** A gateway with one service under `/api`, and the same one with a path in its URL under `/old`. */
async function front(route: ConfigPart = {}, config: ConfigPart = {}) {
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
