import { randomBytes } from 'node:crypto';
import { type ClientHttp2Session, constants } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { ask, H2C } from '../support/http2-client.ts';
import { connectFrames, headers, TYPE } from '../support/http2-frames.ts';
import { accessLines } from '../support/identity-gateway.ts';
import {
  agreementToHead,
  CLOSE,
  closePayload,
  frame,
  masked,
  type RawPeer,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { openCount, startWsServer } from '../support/web-sockets.ts';
import { askForWebSocket, connectForWebSockets } from '../support/web-sockets-http2.ts';

type Settings = Partial<Parameters<typeof startGateway>[0]>;

const { NGHTTP2_CANCEL: CANCEL } = constants;
const ENABLE_CONNECT_PROTOCOL = 8;
const CLOSE_1000 = closePayload(1000);

/** A gateway before an upstream that echoes messages. */
async function front({ config, ...settings }: Settings = {}) {
  const upstream = (await startWsServer()).echo();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    ...settings,
    config: { listen: H2C, ...config },
  });
  return { upstream, gateway, session: await connectForWebSockets(gateway) };
}

/** An open WebSocket of HTTP/2, before a raw upstream. */
async function raw({ config, lines = [], ...settings }: Settings & { lines?: string[] } = {}) {
  const upstream = await startRawUpstream(
    peer => void peer.socket.write(agreementToHead(peer.head, ...lines), 'latin1'),
  );
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    ...settings,
    config: { listen: H2C, ...config },
  });
  const session = await connectForWebSockets(gateway);
  const client = await askForWebSocket(session, '/', { 'sec-websocket-protocol': 'chat' });
  expect(client.status).toBe(200);
  return { client, gateway, session, upstream: upstream.peers[0] as RawPeer };
}

/** The value of ENABLE_CONNECT_PROTOCOL in the first SETTINGS; undefined if it is not there. */
async function offered(gateway: LocalGateway): Promise<number | undefined> {
  const client = await (await connectFrames(gateway.port)).begin();
  const { payload } = await client.next(({ type, flags }) => type === TYPE.settings && flags === 0);
  for (let at = 0; at < payload.length; at += 6)
    if (payload.readUInt16BE(at) === ENABLE_CONNECT_PROTOCOL) return payload.readUInt32BE(at + 2);
  return undefined;
}

describe('a WebSocket over HTTP/2', () => {
  test('is offered only where a route serves WebSockets', async () => {
    expect(await offered((await front()).gateway)).toBe(1);
    const gateway = await startGateway({ upstreamPort: 1, config: { listen: H2C } });
    expect(await offered(gateway)).toBeUndefined();
    const client = await (await connectFrames(gateway.port)).begin();
    const extended = [[':method', 'CONNECT'] as const, [':protocol', 'websocket'] as const];
    await client.send(
      headers(1, [...extended, [':scheme', 'http'], [':path', '/'], [':authority', 'a.test']], 4),
    );
    expect(await client.status(1)).toBe(400);
  });

  test('goes to its service over HTTP/1.1, with a key of the gateway', async () => {
    const { client, upstream } = await raw({ lines: ['Sec-WebSocket-Protocol: chat', 'X-Own: 1'] });
    const [line, ...lines] = upstream.head.trimEnd().split('\r\n');
    expect(line).toBe('GET / HTTP/1.1');
    const told = (name: string) => lines.find(each => each.toLowerCase().startsWith(`${name}:`));
    expect([told('connection'), told('upgrade')]).toEqual(['Connection: Upgrade', 'Upgrade: websocket']);
    expect(told('sec-websocket-key')).toMatch(/: [A-Za-z0-9+/]{22}==$/);
    expect([told('host'), told('via')]).toEqual(['Host: a.test', 'Via: 2 weir']);
    expect(told('sec-websocket-protocol')).toContain('chat');
    expect(client.fields).toMatchObject({ 'sec-websocket-protocol': 'chat', 'x-own': '1' });
    for (const name of ['connection', 'upgrade', 'sec-websocket-accept'])
      expect(client.fields[name], name).toBeUndefined();
  });

  test('carries frames of any size both ways, beside requests and others on its connection', async () => {
    const { session, gateway } = await front();
    const sockets = await Promise.all([1, 2, 3].map(i => askForWebSocket(session, `/${i}`)));
    for (const size of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
      const bytes = randomBytes(size);
      for (const { stream } of sockets) stream.write(masked(bytes, { opcode: 2 }));
      const echo = frame(bytes, { opcode: 2 });
      for (const socket of sockets) {
        await expect.poll(() => socket.received.length).toBe(echo.length);
        expect(socket.received.equals(echo), `${size}`).toBe(true);
        socket.received = Buffer.alloc(0);
      }
    }
    // The service answers ordinary requests with 426.
    expect(await ask(session, { ':path': '/' })).toMatchObject({ status: 426, rstCode: 0 });
    expect(await openCount(gateway)).toBe(3);
  });

  test('is in metrics and the access log when it ends, with its bytes', async () => {
    const { session, gateway } = await front({ config: { log: { level: 'info', access: true } } });
    const socket = await askForWebSocket(session, '/room');
    socket.send(masked('hello'));
    await expect.poll(() => socket.received).toEqual(frame('hello'));
    socket.send(masked(CLOSE_1000, { opcode: CLOSE }));
    await expect
      .poll(() => socket.received)
      .toEqual(Buffer.concat([frame('hello'), frame(CLOSE_1000, { opcode: CLOSE })]));
    await expect.poll(() => socket.end).toBe('end');
    socket.stream.end();
    await expect.poll(() => accessLines(gateway)).toHaveLength(1);
    expect(accessLines(gateway)[0]).toMatchObject({
      ...{ protocol: 'websocket', method: 'GET', route: '/**', upstream: 'api', status: 101 },
      ...{ outcome: 'forwarded', bytesReceived: 11 + 8, bytesSent: 7 + 4 },
    });
    expect(await openCount(gateway)).toBe(0);
    expect(await ask(session, { ':path': '/' })).toMatchObject({ status: 426 });
  });
});

describe('a WebSocket over HTTP/2 is refused', () => {
  const refused = async (session: ClientHttp2Session, fields = {}, path = '/') => {
    const { status, fields: back } = await askForWebSocket(session, path, fields);
    return [status, back['sec-websocket-version'], back.upgrade];
  };

  test.each([
    ['in another version', { 'sec-websocket-version': '8' }, 426],
    ['with a body', { 'content-length': '5' }, 400],
    ['for another protocol', { ':protocol': 'connect-udp' }, 405],
    ['from a page of another origin', { origin: 'https://evil.example' }, 403],
  ])('%s', async (_, fields, status) => {
    const { session, upstream } = await front({ config: { cors: { origins: ['https://app.example'] } } });
    const version = status === 426 ? '13' : undefined;
    expect(await refused(session, fields)).toEqual([status, version, undefined]);
    expect(upstream.server.clients.size).toBe(0);
    // The session goes on.
    expect((await askForWebSocket(session)).status).toBe(200);
  });

  test('where its route has none, past a cap, and where the service does not agree', async () => {
    const routes = [
      { path: '/plain', upstream: 'api', authentication: 'none' },
      { path: '/live', upstream: 'api', authentication: 'none', websocket: true },
    ];
    const api = { max_websockets: 1, max_websockets_per_caller: '100%' };
    const { session } = await front({ api, config: { routes } });
    expect(await refused(session, {}, '/plain')).toEqual([501, undefined, undefined]);
    expect((await askForWebSocket(session, '/live')).status).toBe(200);
    expect(await refused(session, {}, '/live')).toEqual([503, undefined, undefined]);
    const wrong = await startRawUpstream(
      ({ socket }) => void socket.write(agreementToHead('Sec-WebSocket-Key: other'), 'latin1'),
    );
    const gateway = await startGateway({
      upstreamPort: wrong.port,
      route: { websocket: true },
      config: { listen: H2C },
    });
    expect(await refused(await connectForWebSockets(gateway))).toEqual([502, undefined, undefined]);
  });
});

describe('a WebSocket over HTTP/2 ends', () => {
  const outcome = (gateway: Parameters<typeof accessLines>[0]) => accessLines(gateway)[0]?.outcome;
  const logged = { config: { log: { level: 'info', access: true } } };

  test.each([
    ['ends', (peer: RawPeer) => peer.socket.end()],
    ['resets', (peer: RawPeer) => peer.socket.resetAndDestroy()],
  ])('without a Close frame because the upstream %s its connection', async (_, act) => {
    const { client, upstream, gateway } = await raw(logged);
    upstream.socket.write(frame('last words'));
    await expect.poll(() => client.received).toEqual(frame('last words'));
    act(upstream);
    await expect.poll(() => client.end).not.toBeNull();
    expect(client.received).toEqual(frame('last words'));
    client.stream.end();
    await expect.poll(() => outcome(gateway)).toBe('truncated');
  });

  test.each([
    ['ends', () => {}, 'end'],
    ['resets', () => CANCEL, 'close'],
  ] as const)('because the client %s its stream', async (_, code, act) => {
    const { client, upstream, gateway } = await raw(logged);
    client.send(masked('last words'));
    await expect.poll(() => upstream.received).toEqual(masked('last words'));
    if (act === 'end') client.stream.end();
    else client.stream.close(code());
    await expect.poll(() => upstream.end).not.toBeNull();
    upstream.socket.destroy();
    await expect.poll(() => outcome(gateway)).toBe('abandoned');
    await expect.poll(() => openCount(gateway)).toBe(0);
  });

  test('because its connection breaks off', async () => {
    const { upstream, gateway, session } = await raw(logged);
    session.destroy();
    await expect.poll(() => upstream.end).not.toBeNull();
    upstream.socket.destroy();
    await expect.poll(() => outcome(gateway)).toBe('abandoned');
  });

  test('with 1001 when the gateway drains, whose connection then closes', async () => {
    const { client, upstream, gateway, session } = await raw();
    const drained = gateway.app.drain();
    const close = closePayload(1001, 'going away');
    const going = frame(close, { opcode: CLOSE });
    await gateway.time.advanceUntil('its turn comes', () => client.received.equals(going), 100);
    await expect.poll(() => upstream.received.length).toBe(2 + 4 + close.length);
    client.stream.end();
    upstream.socket.end();
    expect(await drained).toBe(true);
    await expect.poll(() => session.closed).toBe(true);
  });
});
