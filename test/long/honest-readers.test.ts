import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { callOnce, grpcClient, startGrpcServer } from '../support/grpc.ts';
import { connectHttp2 } from '../support/http2-client.ts';
import { PacedSocket } from '../support/paced-socket.ts';
import { Random } from '../support/random.ts';
import { agreementToHead, frame, KEY, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { AUTHORITY, writeIdentity } from '../support/tls-gateway.ts';
import { sleep } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

/** Longer than `timeouts.client_read`, over which the gateway takes the average of what a client reads. */
const SLOW_MS = 80_000;
/** What a phone on 2G reads. */
const SLOW_BYTES_PER_S = 10_000;
/** Much larger than what kernels keep of a connection, so that the gateway waits for the client all the time. */
const LARGE = new Random(1).bytes(16 * 1024 * 1024);
const MAX_WINDOW = 0x7fff_ffff;

interface Front {
  readonly plain: LocalGateway;
  readonly secure: LocalGateway;
}

/** Two gateways whose timeouts, rates and caps are all at their defaults. */
async function start(): Promise<Front> {
  const upstream = await startUpstream(async exchange => {
    if (exchange.request.target !== '/events') return await exchange.answer(200, [], LARGE);
    const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
    await exchange.send(`${events}9\r\ndata: a\n\n\r\n`);
    await sleep(SLOW_MS);
    await exchange.send('9\r\ndata: b\n\n\r\n0\r\n\r\n');
  });
  const sockets = await startRawUpstream(({ socket, head: asked }) => {
    socket.write(agreementToHead(asked), 'latin1');
    for (let at = 0; at < LARGE.length; at += 65_536) socket.write(frame(LARGE.subarray(at, at + 65_536)));
    socket.end(frame('', { opcode: 8 }));
  });
  const calls = await startGrpcServer({
    Download: async (call: ServerWritableStream<Buffer, Buffer>) => {
      for (let i = 0; i < 4; i++) {
        if (i > 0) await sleep(SLOW_MS / 3);
        call.write(Buffer.from(String(i)));
      }
      call.end();
    },
    ...{ Unary: () => {}, Upload: () => {}, Talk: () => {} },
  });
  const certificate = await writeIdentity(
    await tempFolder(),
    '0',
    AUTHORITY.forHosts('localhost', '127.0.0.1'),
  );
  const open = { authentication: 'none' };
  const gateway = (http: object) =>
    startGateway({
      upstreamPort: upstream.port,
      config: {
        listen: { http: { address: '127.0.0.1:0', ...http }, admin: '127.0.0.1:0' },
        upstreams: {
          api: { url: `http://127.0.0.1:${upstream.port}` },
          sockets: { url: `http://127.0.0.1:${sockets.port}` },
          calls: { url: `http://127.0.0.1:${calls}`, protocol: 'grpc' },
        },
        routes: [
          { path: '/**', upstream: 'api', ...open },
          // How long its service may be silent is another matter.
          { path: '/events', upstream: 'api', ...open, timeouts: { idle: '5m' } },
          { path: '/socket', upstream: 'sockets', ...open, websocket: true },
          { grpc: 'test.v1.Echo/*', upstream: 'calls', ...open },
        ],
      },
    });
  return {
    plain: await gateway({ h2c: true }),
    secure: await gateway({ tls: { certificates: [certificate] } }),
  };
}

/** A phone, and what its connection carries: HTTP itself, or TLS below it. */
function phone({ plain, secure }: Front, protocol: string | null) {
  const wire = new PacedSocket(protocol === null ? plain.port : secure.port, SLOW_BYTES_PER_S);
  if (protocol === null) return { wire, bytes: wire };
  const trust = { ca: AUTHORITY.certificate, servername: 'localhost' };
  return { wire, bytes: connectTls({ ...trust, socket: wire, ALPNProtocols: [protocol] }) };
}

/** Reads slowly for longer than `client_read`, then the rest, and returns a digest of all. */
async function readSlowly(wire: PacedSocket, body: Readable): Promise<string> {
  const hash = createHash('sha1');
  body.on('data', bytes => hash.update(bytes));
  const end = once(body, 'end');
  // What breaks the response off must not go by unseen while it is slow.
  await Promise.race([sleep(SLOW_MS), end]);
  wire.hurry();
  await end;
  return hash.digest('hex');
}

async function http1(front: Front, protocol: string | null, upgrade = false): Promise<string> {
  const { wire, bytes } = phone(front, protocol);
  const usual = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': KEY,
  };
  const asked = requestHttp({
    ...{ host: 'a.test', path: upgrade ? '/socket' : '/large', createConnection: () => bytes },
    ...(upgrade && { headers: usual }),
  });
  asked.end();
  const [response, socket, first] = await once(asked, upgrade ? 'upgrade' : 'response');
  if (!upgrade) return await readSlowly(wire, response);
  socket.unshift(first);
  return await readSlowly(wire, socket);
}

/** @param window of the client: so large that the socket fills up, or that of Node.js */
async function http2(
  front: Front,
  protocol: string | null,
  window: number | null,
  path = '/large',
): Promise<string> {
  const { wire, bytes } = phone(front, protocol);
  const session = connect('http://a.test', {
    createConnection: () => bytes,
    ...(window !== null && { settings: { initialWindowSize: window } }),
  });
  onTestFinished(() => session.destroy());
  await once(session, 'remoteSettings');
  if (window !== null) session.setLocalWindowSize(window);
  return await readSlowly(
    wire,
    path === '/socket' ? openSocket(session) : session.request({ ':path': path }),
  );
}

function openSocket(session: ClientHttp2Session): ClientHttp2Stream {
  const protocol = {
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':authority': 'a.test',
  };
  return session.request(
    { ...protocol, ':path': '/socket', 'sec-websocket-version': '13' },
    { endStream: false },
  );
}

/** A tab that is in the background for half of each minute. */
async function pausedTab({ plain }: Front): Promise<string> {
  const stream = connectHttp2(plain).request({ ':path': '/large' });
  const hash = createHash('sha1');
  let bytes = 0;
  stream.on('data', (piece: Buffer) => {
    hash.update(piece);
    bytes += piece.length;
  });
  const end = once(stream, 'end');
  for (const part of [LARGE.length / 4, LARGE.length / 2, LARGE.length]) {
    while (bytes < part) await Promise.race([once(stream, 'data'), end]);
    if (bytes === LARGE.length) break;
    stream.pause();
    await sleep(35_000);
    stream.resume();
  }
  await end;
  return hash.digest('hex');
}

const digest = (...parts: readonly Uint8Array[]) => {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};
const WHOLE = digest(LARGE);
const messages = Array.from({ length: LARGE.length / 65_536 }, (_, i) =>
  frame(LARGE.subarray(i * 65_536, (i + 1) * 65_536)),
);
const ALL_MESSAGES = digest(...messages, frame('', { opcode: 8 }));

const CLIENTS: readonly (readonly [
  name: string,
  run: (front: Front) => Promise<unknown>,
  outcome: unknown,
])[] = [
  ['a phone over HTTP/1.1', front => http1(front, null), WHOLE],
  ['a phone over HTTP/1.1 and TLS', front => http1(front, 'http/1.1'), WHOLE],
  ['a phone over HTTP/2', front => http2(front, null, null), WHOLE],
  ['a phone over HTTP/2 with a large window', front => http2(front, null, MAX_WINDOW), WHOLE],
  ['a phone over HTTP/2 and TLS', front => http2(front, 'h2', MAX_WINDOW), WHOLE],
  ['a WebSocket on a phone', front => http1(front, null, true), ALL_MESSAGES],
  ['a WebSocket over HTTP/2 on a phone', front => http2(front, null, MAX_WINDOW, '/socket'), ALL_MESSAGES],
  ['a tab that is paused for half a minute', pausedTab, WHOLE],
  [
    'a stream of events that is silent for more than a minute',
    async ({ plain }) => (await plain.ask(head('GET /events'))).body.toString(),
    'data: a\n\ndata: b\n\n',
  ],
  [
    'a gRPC stream with slow messages',
    async ({ plain }) => {
      const { messages: got, status } = await callOnce(grpcClient(plain.port), '/test.v1.Echo/Download');
      return [got.join(), status.code];
    },
    ['0,1,2,3', 0],
  ],
];

test('clients that read slowly for longer than client_read, or wait for what comes slowly, get everything', async () => {
  const front = await start();
  const outcome = (run: (front: Front) => Promise<unknown>) => run(front).catch(error => String(error));
  const outcomes = await Promise.all(CLIENTS.map(async ([name, run]) => [name, await outcome(run)]));
  expect(outcomes).toEqual(CLIENTS.map(([name, , expected]) => [name, expected]));
  for (const gateway of [front.plain, front.secure])
    expect(await gateway.counted('weir_readers_ended_total')).toEqual(new Map());
});
