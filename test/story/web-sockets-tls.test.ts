import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { installBrowser, startBrowser } from '../support/browser.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { closing, openSocket } from '../support/web-sockets.ts';

beforeAll(installBrowser);

/** A gateway that speaks TLS on both sides, before a service that echoes messages and shows an empty page. */
async function front(tls: Record<string, unknown> = {}) {
  const { certificate, key } = AUTHORITY.forHosts('127.0.0.1');
  /** What the requests for WebSockets were sent by: Via names the version of HTTP. */
  const via: (string | undefined)[] = [];
  const server = createServer({ cert: certificate, key }, (_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { headers }) => {
    via.push(headers.via);
    socket.on('message', (data, binary) => socket.send(data, { binary }));
  });
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { gateway } = await startTlsGateway({
    api: { url, tls: { verify: false } },
    tls,
    route: { websocket: true },
    config: { shutdown: { delay: '0s', drain: '5s' } },
  });
  return { gateway, via };
}

test('over TLS on both sides messages of any size pass, and a drain ends a WebSocket with 1001', async () => {
  const { gateway } = await front();
  const socket = await openSocket(gateway, '/', {
    scheme: 'wss',
    rejectUnauthorized: false,
    perMessageDeflate: false,
  });
  for (const size of [1, 5_000, 100_000, 3_000_000]) {
    const bytes = randomBytes(size);
    socket.send(bytes);
    const [echo] = await once(socket, 'message');
    expect(bytes.equals(echo), `${size}`).toBe(true);
  }
  const closed = closing(socket);
  void gateway.app.drain();
  expect(await closed).toEqual([1001, 'going away']);
});

test.each([
  ['HTTP/2', {}, '2 weir'],
  ['HTTP/1.1', { http2: false }, '1.1 weir'],
])(
  'a page in a browser opens WebSockets over %s, gets its echo, and learns why the gateway closes them',
  async (_, tls, version) => {
    const { gateway, via } = await front(tls);
    const page = await (await startBrowser()).open(`https://127.0.0.1:${gateway.port}/`);
    const isSame = await page.run<boolean>(`
    const open = async () => {
      const socket = new WebSocket('wss://' + location.host + '/live');
      await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
      const end = new Promise(resolve => { socket.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]); });
      return { socket, end };
    };
    const opened = [await open(), await open()];
    self.ending = Promise.all(opened.map(({ end }) => end));
    const sent = Array.from({ length: 30000 }, (_, at) => at).join();
    const echoes = opened.map(({ socket }) => new Promise(resolve => { socket.onmessage = ({ data }) => resolve(data); }));
    for (const { socket } of opened) socket.send(sent);
    return (await Promise.all(echoes)).every(echo => echo === sent);`);
    expect(isSame).toBe(true);
    expect(via).toEqual([version, version]);
    void gateway.app.drain();
    const end = [1001, 'going away', true];
    expect(await page.run('return await ending')).toEqual([end, end]);
  },
);
