import { describe, expect, test } from 'vitest';
import { startGateway, withoutWorkers } from '../support/gateway.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import {
  agreement,
  behindHead,
  frame,
  handshake,
  KEY,
  masked,
  type RawPeer,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { settled } from '../support/wait.ts';
import { header, type RawClient, startUpstream, values } from '../support/wire/index.ts';

const agree = ({ socket }: RawPeer) => void socket.write(agreement(), 'latin1');

async function front({
  answer = agree,
  ...settings
}: Record<string, unknown> & { answer?: typeof agree } = {}) {
  const upstream = await startRawUpstream(answer);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    route: { websocket: true },
    ...settings,
  });
  return { upstream, gateway, client: await gateway.connect() };
}

/** The first line of what came. */
const statusLine = ({ received }: RawClient): string => received.toString('latin1').split('\r\n')[0] ?? '';

test('a handshake goes upstream with the canonical path, the cleaned fields and what it needs', async () => {
  const { client, upstream } = await front();
  const lines = [
    'Sec-WebSocket-Protocol: chat, superchat',
    'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits',
    ...['Origin: https://app.example', 'X-Real-IP: 6.6.6.6', 'Cookie: a=b'],
  ];
  await client.send(handshake('/rooms/%7euser?x=%2F', ...lines));
  await expect.poll(() => statusLine(client)).toBe('HTTP/1.1 101 Switching Protocols');
  const sent = upstream.peers[0]?.head ?? '';
  expect(sent).toMatch(/^GET \/rooms\/~user\?x=%2F HTTP\/1.1\r\n/);
  for (const line of lines) {
    if (line.startsWith('X-Real-IP')) expect(sent).not.toContain('6.6.6.6');
    else expect(sent).toContain(`\r\n${line}\r\n`);
  }
  expect(sent).toContain('\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n');
  expect(sent).toContain(`\r\nSec-WebSocket-Key: ${KEY}\r\n`);
  expect(sent.match(/\r\nConnection:/g)).toHaveLength(1);
  expect(sent).toContain('\r\nX-Forwarded-For: 127.0.0.1\r\n');
});

test('the 101 has the fields of both, and those of the bucket', async () => {
  const issuer = await startIssuer();
  const answer = ({ socket }: RawPeer) =>
    void socket.write(
      agreement('X-Service: yes', 'Sec-WebSocket-Extensions: permessage-deflate', 'Keep-Alive: timeout=1'),
      'latin1',
    );
  const upstream = await startRawUpstream(answer);
  const { gateway } = await startGatewayOf(issuer, {
    config: {
      upstreams: { api: { url: `http://127.0.0.1:${upstream.port}` } },
      routes: [{ path: '/**', upstream: 'api', websocket: true }],
    },
    limits: { buckets: { sockets: { user: '2/1m' } }, routes: { 'GET /live': 'sockets' } },
  });
  const token = `Authorization: Bearer ${issuer.token({ sub: 'alice' })}`;
  const client = await gateway.connect();
  const first = await client.ask(handshake('/live', token, 'Sec-WebSocket-Extensions: permessage-deflate'));
  expect(first.status).toBe(101);
  expect(header(first, 'x-service')).toBe('yes');
  expect(header(first, 'x-ratelimit-remaining')).toBe('1');
  expect(header(first, 'via')).toBe('1.1 weir');
  expect(header(first, 'upgrade')).toBe('websocket');
  expect(values(first.fields, 'connection')).toEqual(['Upgrade']);
  expect(header(first, 'sec-websocket-extensions')).toBe('permessage-deflate');
  expect(values(first.fields, 'keep-alive')).toEqual([]);
  // A handshake draws on buckets as any request does, and what refuses it is plain HTTP.
  expect(
    (await gateway.ask(handshake('/live', token, 'Sec-WebSocket-Extensions: permessage-deflate'))).status,
  ).toBe(101);
  const third = await gateway.ask(handshake('/live', token));
  expect(third.status).toBe(429);
  expect(header(third, 'x-ratelimit-remaining')).toBe('0');
  expect(header(third, 'connection')).toBe('close');
  const fourth = await gateway.ask(handshake('/live'));
  expect(fourth.status).toBe(401);
  expect(header(fourth, 'www-authenticate')).toBe('Bearer');
  expect(upstream.peers).toHaveLength(2);
  expect(accessLines(gateway).map(({ protocol, status }) => [protocol, status])).toEqual([
    ['websocket', 429],
    ['websocket', 401],
  ]);
});

describe('a request for a WebSocket', () => {
  test.each([
    ['to a route without them', handshake('/plain'), 501, 12],
    ['of another version', handshake('/', 'Sec-WebSocket-Version: 8'), 426, 3],
    ['with a key of 15 bytes', handshake('/', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub24='), 400, 3],
    ['with two keys', handshake('/', `Sec-WebSocket-Key: ${KEY}`, `Sec-WebSocket-Key: ${KEY}`), 400, 3],
    ['whose key is for this hop', handshake('/', 'Connection: Upgrade, Sec-WebSocket-Key'), 400, 3],
    ['with a body', `${handshake('/', 'Content-Length: 2')}ab`, 400, 3],
  ])('%s is refused, and its connection closes', async (_, bytes, status, code) => {
    const routes = [
      { path: '/**', upstream: 'api', authentication: 'none', websocket: true },
      { path: '/plain', upstream: 'api', authentication: 'none' },
    ];
    const { client, upstream } = await front({ config: { routes } });
    const response = await client.ask(bytes);
    expect(response.status).toBe(status);
    expect(JSON.parse(response.body.toString())).toMatchObject({ code });
    if (status === 426) {
      expect(header(response, 'sec-websocket-version')).toBe('13');
      expect(header(response, 'upgrade')).toBe('websocket');
    }
    // What a client sends behind it are frames, which must not be read as a request.
    await client.send(head('GET /smuggled'));
    expect(await client.ended()).toBe('close');
    expect(upstream.peers).toEqual([]);
  });

  test('is an ordinary request without Connection, over HTTP/1.0, or for several protocols', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true } });
    const client = await gateway.connect();
    for (const bytes of [
      handshake('/', 'Connection: keep-alive'),
      handshake('/', 'Upgrade: websocket, h2c'),
      handshake('/').replace('HTTP/1.1', 'HTTP/1.0'),
    ]) {
      const response = await client.ask(bytes);
      expect(response.status).toBe(200);
      expect(values(response.fields, 'upgrade')).toEqual([]);
    }
    for (const { fields } of upstream.requests) expect(values(fields, 'upgrade')).toEqual([]);
  });

  test('may get any other response from its upstream', async () => {
    // Each worker has connections of its own.
    withoutWorkers();
    const upstream = await startUpstream(exchange => exchange.answer(403, ['X-Why', 'full'], 'no room'));
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { websocket: true } });
    const response = await gateway.ask(handshake('/'));
    expect(response).toMatchObject({ status: 403, complete: true });
    expect(response.body.toString()).toBe('no room');
    expect(header(response, 'x-why')).toBe('full');
    // The connection to the upstream is as good as any.
    expect((await gateway.ask(head('GET /'))).status).toBe(403);
    expect(new Set(upstream.requests.map(({ connection }) => connection)).size).toBe(1);
  });
});

describe('a 101', () => {
  test.each([
    ['with the Accept of another key', agreement().replace(/Accept: .../, 'Accept: AAA')],
    ['with two of them', agreement('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')],
    ['without Upgrade', agreement().replace('Upgrade: websocket\r\n', '')],
    ['of HTTP/1.0', agreement().replace('HTTP/1.1', 'HTTP/1.0')],
  ])('%s is answered 502, and its connection is cut', async (_, bytes) => {
    const { client, upstream } = await front({ answer: ({ socket }) => void socket.write(bytes, 'latin1') });
    expect((await client.ask(handshake('/', 'Sec-WebSocket-Protocol: chat'))).status).toBe(502);
    await expect.poll(() => upstream.peers[0]?.end).not.toBeNull();
  });

  test('to an ordinary request is answered 502, on a route with WebSockets too', async () => {
    const { client } = await front();
    expect((await client.ask(head('GET /'))).status).toBe(502);
  });

  test('with a subprotocol that was offered passes', async () => {
    const { client } = await front({
      answer: ({ socket }) => void socket.write(agreement('Sec-WebSocket-Protocol: b'), 'latin1'),
    });
    const response = await client.ask(
      handshake('/', 'Sec-WebSocket-Protocol: a', 'Sec-WebSocket-Protocol: c,b'),
    );
    expect(header(response, 'sec-websocket-protocol')).toBe('b');
  });

  test('that does not arrive in time becomes a 504', async () => {
    const api = { timeouts: { first_byte: '300ms' } };
    const { client, gateway } = await front({ answer: () => {}, api });
    expect((await inTime(gateway.time, client.ask(handshake('/')))).status).toBe(504);
  });
});

describe('bytes that come early', () => {
  test('from a client that does not wait for the 101 are passed on behind it', async () => {
    const { client, upstream } = await front({
      answer: ({ socket }) => void setTimeout(() => socket.write(agreement(), 'latin1'), 50),
    });
    await client.send(
      Buffer.concat([Buffer.from(handshake('/')), masked('one'), masked('two').subarray(0, 3)]),
    );
    await client.send(masked('two').subarray(3));
    const both = Buffer.concat([masked('one'), masked('two')]);
    await expect.poll(() => upstream.peers[0]?.received).toEqual(both);
  });

  test('from an upstream, in one piece with its 101, follow it', async () => {
    const { client } = await front({
      answer: ({ socket }) =>
        void socket.write(Buffer.concat([Buffer.from(agreement()), frame('first'), frame('second')])),
    });
    await client.send(handshake('/'));
    await expect.poll(() => behindHead(client)).toEqual(Buffer.concat([frame('first'), frame('second')]));
  });

  test('from a client are kept up to a bound while no 101 comes', async () => {
    const { client, upstream } = await front({ answer: () => {} });
    await client.send(handshake('/'));
    const flood = Buffer.alloc(32 * 1_048_576);
    void client.send(flood);
    await expect.poll(() => upstream.peers.length).toBe(1);
    await settled(() => client.bytesFlushed);
    expect(client.bytesFlushed).toBeLessThan(flood.length);
  });
});

describe('with cors, a page', () => {
  const cors = { origins: ['https://app.example'] };
  const ask = async (origin: string, settings = {}, ...more: string[]) => {
    const { client } = await front({ config: { cors }, ...settings });
    await client.send(handshake('/', `Origin: ${origin}`, ...more));
    await expect.poll(() => statusLine(client)).not.toBe('');
    return Number(statusLine(client).split(' ')[1]);
  };

  test('of a listed origin, or of the same host, may open a WebSocket, and another may not', async () => {
    expect(await ask('https://app.example')).toBe(101);
    expect(await ask('https://gateway.test')).toBe(101);
    expect(await ask('https://evil.example')).toBe(403);
    expect(await ask('null')).toBe(403);
    expect(await ask('https://app.example', {}, 'Origin: https://evil.example')).toBe(403);
  });

  test.each(['Upgrade, Origin', 'origin,upgrade'])(
    'of a foreign origin may not, though its request says that Origin ends at this hop: %s',
    async connection => {
      expect(await ask('https://evil.example', {}, `Connection: ${connection}`)).toBe(403);
      expect(await ask('https://app.example', {}, `Connection: ${connection}`)).toBe(101);
    },
  );

  test('of any origin may on a route whose service answers for that itself', async () => {
    expect(await ask('https://evil.example', { route: { websocket: true, cors: false } })).toBe(101);
  });

  test('of any origin may where no origins are configured', async () => {
    expect(await ask('https://evil.example', { config: {} })).toBe(101);
  });
});
