import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import { createServer as createH2Server } from 'node:http2';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { diagnosticsIn } from '../support/config-text.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { startUpstream, values } from '../support/wire/index.ts';

/** A service at a Unix socket that says which one it is, and how it was asked. */
async function serviceAt(path: string, name: string): Promise<void> {
  const server = createServer((asked, answer) => {
    answer.end(JSON.stringify({ name, host: asked.headers.host, for: asked.headers['x-forwarded-for'] }));
  }).listen(path);
  await once(server, 'listening');
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
}

const routes = (upstream: string) => [{ path: '/**', upstream, authentication: 'none' }];

async function front(upstream: ConfigPart) {
  const config = { upstreams: { app: upstream }, routes: routes('app') };
  return startGateway({ upstreamPort: 1, config });
}

async function ask(gateway: Awaited<ReturnType<typeof front>>) {
  const { body } = await gateway.ask(head('GET /a'));
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

describe('a service at a Unix socket', () => {
  test('is asked as one at a port', async () => {
    const path = join(await tempFolder(), 'app.sock');
    await serviceAt(path, 'one');
    const gateway = await front({ url: `unix:${path}` });
    expect(await ask(gateway)).toEqual({ name: 'one', host: 'gateway.test', for: '127.0.0.1' });
    expect(await ask(gateway)).toMatchObject({ name: 'one' });
  });

  test('may be one of several, and is called localhost where it gets its own host', async () => {
    const folder = await tempFolder();
    const [one, two] = [join(folder, 'A.sock'), join(folder, 'a.sock')];
    await serviceAt(one, 'one');
    await serviceAt(two, 'two');
    const gateway = await front({ urls: [`unix:${one}`, `unix:${two}`], host: 'upstream' });
    const names = new Set<unknown>();
    for (let i = 0; i < 40; i++) {
      const { name, host } = await ask(gateway);
      expect(host).toBe('localhost');
      names.add(name);
    }
    expect([...names].sort()).toEqual(['one', 'two']);
    const { text: status } = await gateway.admin('/status.json');
    expect(status).toContain(`unix:${one}`);
  });

  test('may speak HTTP/2', async () => {
    const path = join(await tempFolder(), 'h2.sock');
    const server = createH2Server((_, answer) => void answer.end('{"name":"h2"}')).listen(path);
    await once(server, 'listening');
    atEnd(() => void server.close());
    const gateway = await front({ url: `unix:${path}`, protocol: 'h2' });
    expect(await ask(gateway)).toEqual({ name: 'h2' });
  });

  test('that is not there is a 502', async () => {
    const gateway = await front({ url: `unix:${join(await tempFolder(), 'none.sock')}` });
    expect((await gateway.ask(head('GET /'))).status).toBe(502);
  });
});

describe('a listener at a Unix socket', () => {
  async function listening(settings: ConfigPart = {}) {
    withoutWorkers();
    const path = join(await tempFolder(), 'weir.sock');
    const upstream = await startUpstream();
    const config = {
      listen: { http: `unix:${path}`, admin: '127.0.0.1:0' },
      log: { level: 'info', access: true },
      ...settings,
    };
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    return { path, gateway, upstream };
  }

  async function get(socketPath: string, headers: Record<string, string> = {}) {
    const sent = request({ socketPath, path: '/a', headers: { host: 'gateway.test', ...headers } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, body: await text(answer) };
  }

  test('has mode 0660 and serves a client that is the address "unix"', async () => {
    const { path, upstream, gateway } = await listening();
    expect((await stat(path)).mode & 0o777).toBe(0o660);
    expect(await get(path, { 'x-forwarded-for': '192.0.2.7', 'x-real-ip': '192.0.2.7' })).toEqual({
      status: 200,
      body: 'ok',
    });
    expect(values(upstream.onlyRequest.fields, 'x-forwarded-for')).toEqual(['unix']);
    expect(gateway.logLines.join()).toContain('"client":"unix"');
  });

  test('believes what a trusted proxy says there, and calls its client "unix" where it says nothing', async () => {
    const { path, upstream, gateway } = await listening({ trusted_proxies: ['unix'] });
    await get(path, { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' });
    await get(path);
    await get(path, { 'x-forwarded-for': 'unix' });
    const [first, second, third] = upstream.requests.map(({ fields }) => values(fields, 'x-forwarded-for'));
    expect(first).toEqual(['192.0.2.7, unix']);
    expect(second).toEqual(['unix']);
    expect(third).toEqual(['unix, unix']);
    const addresses = gateway.logLines.map(line => (JSON.parse(line) as ConfigPart)['client']);
    expect(addresses.filter(address => address !== undefined)).toEqual(['192.0.2.7', 'unix', 'unix']);
  });

  test('goes when the gateway stops', async () => {
    const { path, gateway } = await listening();
    await get(path);
    await gateway.app.drain();
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('check knows what a Unix socket cannot do', async () => {
  const rest =
    'upstreams: { a: { url: "http://a" } }\nroutes: [{ path: /, upstream: a, authentication: none }]\n';
  const found = (lines: string) => diagnosticsIn(`${lines}\n${rest}`);
  expect(await found('listen: { http: unix:/run/weir.sock }')).toEqual([
    expect.stringContaining('add unix to trusted_proxies'),
  ]);
  expect(await found('listen: { http: unix:/run/weir.sock }\ntrusted_proxies: [unix]\nworkers: 2')).toEqual([
    expect.stringContaining('threads cannot share a Unix socket'),
  ]);
  expect(await found('listen: { http: unix:/run/weir.sock }\ntrusted_proxies: [unix]')).toEqual([]);
  expect(await found('listen: { http: unix:run/weir.sock }\ntrusted_proxies: [unix]')).toEqual([
    expect.stringContaining('unix:/run/weir/weir.sock'),
  ]);
  expect(await found('listen: { admin: unix:/run/weir.sock }')).toEqual([
    expect.stringContaining('listen.admin'),
  ]);
  const both = 'listen: { http: unix:/run/a.sock, grpc: unix:/run/a.sock }\ntrusted_proxies: [unix]';
  expect((await found(both))[0]).toContain('http already listens on this address');
});
