import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import {
  agreement,
  behindHead,
  CLOSE,
  closePayload,
  frame,
  handshake,
  masked,
  type RawPeer,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { settled, waitFor } from '../support/wait.ts';
import { closing, message, openSocket, startWsServer } from '../support/web-sockets.ts';
import { header } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type Settings = Partial<Parameters<typeof startGateway>[0]>;

/** Clients and servers of `ws`. */
async function front(settings: Settings = {}) {
  const upstream = await startWsServer({ perMessageDeflate: true, maxPayload: 0 });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    ...settings,
  });
  return { upstream: upstream.echo(), gateway };
}

/** An open WebSocket between raw sockets. */
async function raw(settings: Settings & { offer?: string[]; lines?: string[] } = {}) {
  const { offer = [], lines = [], ...rest } = settings;
  const upstream = await startRawUpstream(({ socket }) => void socket.write(agreement(...lines), 'latin1'));
  const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true }, ...rest });
  const client = await gateway.connect();
  await client.send(handshake('/', ...offer));
  await expect.poll(() => client.received.toString('latin1')).toContain(' 101 ');
  return { client, gateway, upstream: upstream.peers[0] as RawPeer };
}

describe('a WebSocket', () => {
  test('carries messages of any size both ways, and the Close frames of both ends', async () => {
    const { gateway, upstream } = await front();
    const socket = await openSocket(gateway, '/', { perMessageDeflate: false, maxPayload: 0 });
    for (const size of [0, 1, 125, 126, 4_090, 65_535, 65_536, 3_000_000]) {
      const bytes = randomBytes(size);
      socket.send(bytes);
      const [echo] = await once(socket, 'message');
      expect(bytes.equals(echo), `${size}`).toBe(true);
    }
    const server = closing(await upstream.first());
    socket.close(4000, 'bye');
    expect(await closing(socket)).toEqual([4000, 'bye']);
    expect(await server).toEqual([4000, 'bye']);
  });

  test('may be compressed, as both ends agree', async () => {
    const { gateway } = await front();
    const socket = await openSocket(gateway, '/', { perMessageDeflate: { threshold: 0 } });
    expect(socket.extensions).toContain('permessage-deflate');
    const text = 'again and '.repeat(10_000);
    socket.send(text);
    expect(await message(socket)).toBe(text);
  });

  test('carries pings and pongs, also inside a message in fragments', async () => {
    const { gateway, upstream } = await front();
    const socket = await openSocket(gateway);
    socket.send('one, ', { fin: false });
    socket.ping('p');
    expect(String(await once(socket, 'pong'))).toBe('p');
    socket.send('two');
    expect(await message(socket)).toBe('one, two');
    (await upstream.first()).ping('q');
    expect(String(await once(socket, 'ping'))).toBe('q');
  });

  test('passes frames as they are, however their bytes are cut', async () => {
    const { client, upstream } = await raw();
    const pieces = [
      masked('hello'),
      masked('', { opcode: 9 }),
      masked('part', { final: false }),
      masked('ping', { opcode: 9 }),
      masked('end', { opcode: 0 }),
      masked('x'.repeat(300)),
      masked('not minimal', { lengthBytes: 8 }),
    ];
    const bytes = Buffer.concat(pieces);
    for (const byte of bytes) await client.send(Buffer.of(byte));
    await expect.poll(() => upstream.received.length).toBe(bytes.length);
    expect(upstream.received.equals(bytes)).toBe(true);
    const back = Buffer.concat([frame('hello'), frame('x'.repeat(70_000)), frame('', { opcode: 10 })]);
    for (let at = 0; at < back.length; at += 997) upstream.socket.write(back.subarray(at, at + 997));
    await expect.poll(() => behindHead(client).length).toBe(back.length);
    expect(behindHead(client).equals(back)).toBe(true);
  });

  test('is slowed down at its sender where its receiver is slow, in both directions', async () => {
    const { gateway, upstream } = await front();
    const socket = await openSocket(gateway, '/', { perMessageDeflate: false });
    const server = await upstream.first();
    for (const [sender, receiver] of [
      [server, socket],
      [socket, server],
    ] as const) {
      receiver.removeAllListeners('message');
      receiver.pause();
      const before = process.memoryUsage().arrayBuffers;
      const piece = Buffer.alloc(1_048_576, 7);
      for (let i = 0; i < 64; i++) sender.send(piece);
      // Until nothing more is taken from the sender.
      await settled(() => sender.bufferedAmount);
      expect(sender.bufferedAmount).toBeGreaterThan(32 * 1_048_576);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(80 * 1_048_576);
      let received = 0;
      receiver.on('message', data => {
        received += (data as Buffer).length;
      });
      receiver.resume();
      await expect.poll(() => received).toBe(64 * piece.length);
    }
  });

  test('does not count among the requests of its upstream, its address or the gateway', async () => {
    const { gateway } = await front({
      api: { max_requests: 1, max_requests_per_caller: '100%' },
      config: { caps: { requests: 1, requests_per_address: 1 } },
    });
    for (let i = 0; i < 3; i++) await openSocket(gateway);
    // The upstream of `ws` answers ordinary requests with 426.
    expect((await gateway.ask(head('GET /'))).status).toBe(426);
    expect((await gateway.metric('weir_requests_in_flight')).get('')).toBe(0);
    expect((await gateway.metric('weir_websockets_open')).get('{upstream="api"}')).toBe(3);
  });

  test('past a cap is refused with 503 until another is closed', async () => {
    const { gateway } = await front({ api: { max_websockets: 2, max_websockets_per_caller: '50%' } });
    const from = (host: number) => ({ localAddress: `127.0.0.${host}` });
    const first = await openSocket(gateway, '/', from(1));
    await openSocket(gateway, '/', from(2));
    const refused = await gateway.ask(handshake('/'), from(3));
    expect(refused.status).toBe(503);
    expect(header(refused, 'retry-after')).toBe('1');
    expect(JSON.parse(refused.body.toString()).message).toBe(
      'Too many WebSockets are open. Try again shortly.',
    );
    expect([...(await gateway.counted('weir_caps_met_total'))]).toEqual([
      ['{cap="max_websockets",upstream="api"}', 1],
    ]);
    first.close();
    await closing(first);
    await openSocket(gateway, '/', from(3));
  });

  test('outlives the configuration that it began with', async () => {
    const { gateway } = await front();
    const socket = await openSocket(gateway);
    await gateway.app.reload();
    socket.send('still there');
    expect(await message(socket)).toBe('still there');
  });

  test('is in metrics and the access log when it ends, with its bytes', async () => {
    const { gateway } = await front({ config: { log: { level: 'info', access: true } } });
    const socket = await openSocket(gateway, '/room', { perMessageDeflate: false });
    socket.send('hello');
    await message(socket);
    expect(accessLines(gateway)).toEqual([]);
    socket.close(1000);
    await closing(socket);
    await expect.poll(() => accessLines(gateway)).toHaveLength(1);
    // Five bytes and a head of 2, a mask of 4 towards the server; a Close of 4 bytes.
    expect(accessLines(gateway)[0]).toMatchObject({
      ...{ protocol: 'websocket', method: 'GET', route: '/**', upstream: 'api', status: 101 },
      ...{ outcome: 'forwarded', bytesReceived: 11 + 8, bytesSent: 7 + 4 },
    });
    const requests = await gateway.counted('weir_requests_total');
    expect(requests.get('{route="/**",status="101",outcome="forwarded",protocol="websocket"}')).toBe(1);
    expect((await gateway.metric('weir_websockets_open')).get('{upstream="api"}')).toBe(0);
    expect((await gateway.metric('weir_websocket_duration_seconds_count')).get('{upstream="api"}')).toBe(1);
  });
});

describe('when one side ends', () => {
  const outcomes = (gateway: Parameters<typeof accessLines>[0]) =>
    accessLines(gateway).map(({ outcome }) => outcome);
  const logged = { config: { log: { level: 'info', access: true } } };

  test.each([
    ['ends', (peer: RawPeer) => peer.socket.end()],
    ['resets', (peer: RawPeer) => peer.socket.resetAndDestroy()],
  ])('because the upstream %s its connection, the client’s ends without a Close frame', async (_, act) => {
    const { client, upstream, gateway } = await raw(logged);
    upstream.socket.write(frame('last words'));
    await expect.poll(() => behindHead(client)).toEqual(frame('last words'));
    act(upstream);
    await expect.poll(() => client.end).not.toBeNull();
    expect(behindHead(client)).toEqual(frame('last words'));
    client.destroy();
    await expect.poll(() => outcomes(gateway)).toEqual(['truncated']);
  });

  test('because the client disconnects, the upstream’s connection ends without a Close frame', async () => {
    const { client, upstream, gateway } = await raw(logged);
    client.destroy();
    await expect.poll(() => upstream.end).not.toBeNull();
    expect(upstream.received).toEqual(Buffer.alloc(0));
    upstream.socket.destroy();
    await expect.poll(() => outcomes(gateway)).toEqual(['abandoned']);
  });

  test('by a Close that the other answers, the two end the connection themselves', async () => {
    const { client, upstream, gateway } = await raw(logged);
    const close = closePayload(1000);
    await client.send(masked(close, { opcode: CLOSE }));
    await expect.poll(() => upstream.received).toEqual(masked(close, { opcode: CLOSE }));
    expect(upstream.end).toBeNull();
    upstream.socket.write(frame(close, { opcode: CLOSE }));
    await expect.poll(() => behindHead(client)).toEqual(frame(close, { opcode: CLOSE }));
    expect(client.end).toBeNull();
    upstream.socket.end();
    await expect.poll(() => client.end).toBe('close');
    client.destroy();
    await expect.poll(() => outcomes(gateway)).toEqual(['forwarded']);
  });
});

describe('bytes that are not a frame', () => {
  const CLOSE_1002 = closePayload(1002, 'not a WebSocket frame');

  test.each([
    ['not masked', frame('plain')],
    ['with a length of 64 bits', Buffer.concat([Buffer.of(0x82, 0xff), Buffer.alloc(8, 0xff)])],
  ])('from a client (%s) end the WebSocket: 1002 for it, a cut for the upstream', async (_, bytes) => {
    const { client, upstream } = await raw();
    await client.send(Buffer.concat([masked('good'), bytes]));
    await expect.poll(() => behindHead(client)).toEqual(frame(CLOSE_1002, { opcode: CLOSE }));
    await expect.poll(() => upstream.end).not.toBeNull();
    expect(upstream.received.toString('latin1')).not.toContain('plain');
  });

  test('from an upstream (masked) end the WebSocket: 1002 for it, a cut for the client', async () => {
    const { client, upstream, gateway } = await raw({ config: { log: { level: 'info', access: true } } });
    upstream.socket.write(masked('x'));
    await expect.poll(() => client.end).not.toBeNull();
    expect(behindHead(client)).toEqual(Buffer.alloc(0));
    await expect.poll(() => upstream.received.length).toBe(2 + 4 + CLOSE_1002.length);
    const [first, second, ...rest] = upstream.received;
    expect([first, second]).toEqual([0x88, 0x80 | CLOSE_1002.length]);
    const unmasked = rest.slice(4).map((byte, at) => byte ^ (rest[at % 4] ?? 0));
    expect(Buffer.from(unmasked)).toEqual(CLOSE_1002);
    upstream.socket.destroy();
    await expect
      .poll(() => accessLines(gateway)[0])
      .toMatchObject({ outcome: 'truncated', side: 'upstream' });
  });

  test('may be some, with an extension that gives them a meaning', async () => {
    const own = ['Sec-WebSocket-Extensions: x-own'];
    const { client, upstream } = await raw({ offer: own, lines: own });
    const bytes = Buffer.concat([masked('x', { reserved: 0x70 }), masked('x', { opcode: 3 })]);
    await client.send(bytes);
    await expect.poll(() => upstream.received).toEqual(bytes);
  });
});

describe('the gateway ends a WebSocket', () => {
  test('in which nothing passes, with 1001, while pings keep one open', async () => {
    const clock = new FrozenClock();
    const { gateway } = await front({
      clock,
      route: { websocket: true, timeouts: { websocket_idle: '20s' } },
    });
    const [idle, alive] = [await openSocket(gateway), await openSocket(gateway)];
    const [idleClosed, aliveClosed] = [closing(idle), closing(alive)];
    for (let second = 0; second < 25; second++) {
      alive.ping();
      await once(alive, 'pong');
      clock.advance(1_000);
    }
    expect(await idleClosed).toEqual([1001, 'idle']);
    expect(alive.readyState).toBe(alive.OPEN);
    clock.advance(25_000);
    expect(await aliveClosed).toEqual([1001, 'idle']);
  });

  test('when it drains, with 1001 for both ends, after the frame under way', async () => {
    const { client, upstream, gateway } = await raw();
    const bytes = masked('half a frame');
    await client.send(bytes.subarray(0, 8));
    await expect.poll(() => upstream.received.length).toBe(8);
    const drained = gateway.app.drain();
    const close = closePayload(1001, 'going away');
    const going = frame(close, { opcode: CLOSE });
    await gateway.time.advanceUntil('its turn comes', () => behindHead(client).equals(going), 100);
    expect(upstream.received.length).toBe(8);
    await client.send(Buffer.concat([bytes.subarray(8), masked('not this one')]));
    await expect.poll(() => upstream.received.length).toBe(bytes.length + 2 + 4 + close.length);
    expect(upstream.received.subarray(0, bytes.length)).toEqual(bytes);
    expect(upstream.received.subarray(bytes.length, bytes.length + 2)).toEqual(
      Buffer.of(0x88, 0x80 | close.length),
    );
    client.destroy();
    upstream.socket.destroy();
    expect(await drained).toBe(true);
  });

  test('when it drains, one after the other, over the delay and the first half of the drain', async () => {
    const upstream = await startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'));
    const clock = new FrozenClock(Date.now());
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      route: { websocket: true },
      config: { shutdown: { delay: '5s', drain: '10s' } },
      clock,
    });
    const clients = await Promise.all(Array.from({ length: 100 }, () => gateway.connect()));
    for (const client of clients) await client.send(handshake('/'));
    await waitFor('all are open', () => clients.every(({ received }) => received.includes(' 101 ')));
    const close = frame(closePayload(1001, 'going away'), { opcode: CLOSE });
    const closed = () => clients.filter(client => behindHead(client).equals(close)).length;
    const drained = gateway.app.drain();
    for (let due = 10; due <= 100; due += 10) {
      clock.advance(1_000);
      await waitFor(`${due} are closed`, () => closed() >= due - 1);
      expect(closed()).toBeLessThanOrEqual(due + 1);
    }
    for (const client of clients) client.destroy();
    for (const { socket } of upstream.peers) socket.destroy();
    expect(await inTime(clock, drained)).toBe(true);
  });

  test('when it drains, and the upstream agrees only then', async () => {
    const upstream = await startRawUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true } });
    const client = await gateway.connect();
    await client.send(handshake('/'));
    await expect.poll(() => upstream.peers[0]?.head).toBeTruthy();
    const drained = gateway.app.drain();
    upstream.peers[0]?.socket.write(agreement(), 'latin1');
    const going = frame(closePayload(1001, 'going away'), { opcode: CLOSE });
    await gateway.time.advanceUntil('its turn comes', () => behindHead(client).equals(going), 100);
    await expect.poll(() => upstream.peers[0]?.end).toBe('fin');
    client.destroy();
    upstream.peers[0]?.socket.destroy();
    expect(await drained).toBe(true);
  });

  test('when it drains, and cuts what does not close within some seconds', async () => {
    const clock = new FrozenClock();
    const { gateway, upstream } = await raw({
      clock,
      config: { shutdown: { delay: '0s', drain: '30s' } },
    });
    const drained = gateway.app.drain();
    await inTime(clock, drained);
    expect(await drained).toBe(true);
    await expect.poll(() => upstream.end).not.toBeNull();
  });

  test('when its token expires, with 1008, on a route that says so', async () => {
    const clock = new FrozenClock(Date.now());
    const { issuer, gateway } = await identified({ clock });
    const Authorization = `Bearer ${issuer.token(validFor(3, clock))}`;
    const [cut, stays] = [
      await openSocket(gateway, '/expiring', { headers: { Authorization } }),
      await openSocket(gateway, '/', { headers: { Authorization } }),
    ];
    const closed = closing(cut);
    clock.advance(32_000);
    expect(cut.readyState).toBe(cut.OPEN);
    clock.advance(2_000);
    expect(await closed).toEqual([1008, 'token expired']);
    expect(stays.readyState).toBe(stays.OPEN);
    await expect.poll(() => accessLines(gateway)).toHaveLength(1);
    expect(accessLines(gateway)[0]).toMatchObject({
      outcome: 'truncated',
      tokenRefused: 'expired',
      status: 101,
    });
  });

  test.each([
    ['revoked', 'token revoked'],
    ['restricted', 'restricted'],
    ['expired', 'token expired'],
  ])(
    'when its sender is %s in the middle of a frame: not a byte more reaches the upstream',
    async (how, why) => {
      const upstream = await startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'));
      const { issuer, gateway } = await identified({
        port: upstream.port,
        limits: { invalid_requests: { limit: '2/60s', restrict_for: '60s' } },
      });
      const nowS = Math.floor(Date.now() / 1_000);
      const claims = how === 'expired' ? { exp: nowS - 27 } : { iat: nowS - 61 };
      const client = await gateway.connect();
      await client.send(handshake('/expiring', `Authorization: Bearer ${issuer.token(claims)}`));
      await expect.poll(() => client.received.toString('latin1')).toContain(' 101 ');
      const long = masked('x'.repeat(100_000));
      await client.send(long.subarray(0, 50_000));
      const peer = upstream.peers[0] as RawPeer;
      await expect.poll(() => peer.received.length).toBe(50_000);
      if (how === 'revoked') {
        issuer.provider.token = scripts.tokens({
          access_token: issuer.token(),
          'not-before-policy': nowS - 60,
        });
        void redeem(gateway, 'a-code', 'https://app.example/callback');
      } else if (how === 'restricted') for (let i = 0; i < 3; i++) await gateway.ask(head('GET /'));
      await gateway.time.advanceUntil('it is closed', () => behindHead(client).length > 0);
      await expect.poll(() => behindHead(client)).toEqual(frame(closePayload(1008, why), { opcode: CLOSE }));
      await client.send(long.subarray(50_000));
      await expect.poll(() => peer.end).toBe('fin');
      expect(peer.received.length).toBe(50_000);
    },
  );
});

/** With tokens, and a route on which they may expire. */
async function identified(settings: Omit<IdentitySettings, 'issuer'> & { port?: number } = {}) {
  const { port, ...rest } = settings;
  const issuer = await startIssuer();
  const routes = [
    { path: '/**', upstream: 'api', websocket: true },
    { path: '/expiring', upstream: 'api', websocket: true, close_at_expiry: true },
  ];
  const upstreams = { api: { url: `http://127.0.0.1:${port ?? (await startWsServer()).echo().port}` } };
  const { gateway } = await startGatewayOf(issuer, { config: { upstreams, routes }, ...rest });
  return { issuer, gateway };
}
