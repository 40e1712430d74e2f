import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { changeConfig } from '../support/edit-config.ts';
import { type ConfigPart, type LocalGateway, startGateway } from '../support/gateway.ts';
import { framed } from '../support/grpc.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { H2C } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE } from '../support/http2-frames.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import {
  agreementToHead,
  handshake,
  frame as message,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { areWhole } from '../support/runs.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const CAP = 2 * MIB;
/** What a turn of the event loop, or another thread, may add before connections end. */
const MOST = 1.5 * CAP;
/** Each leaves the gateway more than a 32nd of the cap to hold. */
const ATTACKERS = 32;

const CHUNK = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
const UPLOAD = Buffer.from(head('POST /stuck', 'Content-Length: 100000000') + 'x'.repeat(8 * MIB));

type Attack = (gateway: LocalGateway) => Promise<unknown>;

/** A client of HTTP/1.1 that sends this and reads nothing. */
const silent =
  (bytes: string | Buffer): Attack =>
  async gateway => {
    const client = await gateway.connect();
    client.pause();
    void client.send(bytes);
  };

/** A client of HTTP/2 that opens no window. */
const shut =
  (...frames: Buffer[]): Attack =>
  async gateway => {
    const client = await (await connectFrames(gateway.port)).begin([4, 0]);
    await client.send(...frames);
  };

const ATTACKS: readonly (readonly [name: string, open: Attack])[] = [
  ['downloads over HTTP/1.1', silent(head('GET /endless'))],
  ['streams of HTTP/2', shut(headers(1, request('/endless')))],
  ['WebSockets', silent(handshake('/socket'))],
  [
    'WebSockets over HTTP/2',
    shut(
      headers(
        1,
        [...request('/socket', 'CONNECT'), [':protocol', 'websocket'], ['sec-websocket-version', '13']],
        FLAG.endHeaders,
      ),
    ),
  ],
  [
    'gRPC streams',
    shut(
      headers(
        1,
        [
          ...request('/test.v1.Echo/Download', 'POST'),
          ['content-type', 'application/grpc'],
          ['te', 'trailers'],
        ],
        FLAG.endHeaders,
      ),
      frame(TYPE.data, FLAG.endStream, 1, framed('')),
    ),
  ],
  [
    'sign-in bodies without end',
    silent(
      head('POST /v1/anonymous/auth', 'Content-Length: 60000', 'Content-Type: application/json') +
        ' '.repeat(50_000),
    ),
  ],
  ['uploads to a service that does not read', silent(UPLOAD)],
];

/** Their bytes wait as those of streams of HTTP/2 do. */
const ALSO = ['WebSockets over HTTP/2', 'gRPC streams'];

/** A gateway with little room for what is not read. */
async function start(more: ConfigPart = {}, buffered = CAP) {
  const issuer = await startIssuer();
  const upstream = await startUpstream(async exchange => {
    const { target } = exchange.request;
    if (target === '/stuck') {
      exchange.connection.pause();
      return await exchange.gone;
    }
    if (target !== '/endless') return await exchange.answer(200, [], 'x'.repeat(100_000));
    await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (;;) await exchange.send(CHUNK);
  });
  const sockets = await startRawUpstream(({ socket, head: asked }) => {
    const piece = message(Buffer.alloc(64 * KIB), { opcode: 2 });
    const fill = () => {
      while (socket.writable && socket.write(piece));
    };
    socket.write(agreementToHead(asked), 'latin1');
    socket.on('drain', fill);
    fill();
  });
  const calls = await startH2Upstream(({ stream }) => {
    const fill = () => {
      while (!stream.destroyed && stream.write(framed('x'.repeat(16_384))));
    };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
    stream.on('drain', fill);
    fill();
  });
  const open = { upstream: 'api', authentication: 'none' };
  const settings = await identityConfig(
    {
      issuer: issuer.url,
      config: {
        listen: H2C,
        caps: { buffered: `${buffered / MIB}MiB` },
        log: { level: 'info', access: false },
        upstreams: {
          api: { url: `http://127.0.0.1:${upstream.port}` },
          sockets: { url: `http://127.0.0.1:${sockets.port}` },
          calls: { url: `http://127.0.0.1:${calls.port}`, protocol: 'grpc' },
        },
        routes: [
          { path: '/**', ...open, max_body: '1GiB' },
          { path: '/secret', upstream: 'api' },
          { path: '/socket', ...open, upstream: 'sockets', websocket: true },
          { grpc: 'test.v1.Echo/*', ...open, upstream: 'calls' },
        ],
        ...more,
      },
    },
    upstream,
  );
  const gateway = await startGateway(settings);
  await gateway.ready();
  return gateway;
}

async function held(gateway: LocalGateway): Promise<number> {
  return [...(await gateway.metric('weir_buffered_bytes')).values()][0] ?? 0;
}

async function ended(gateway: LocalGateway): Promise<number> {
  return (await gateway.metric('weir_readers_ended_total')).get('{reason="buffered"}') ?? 0;
}

/** Asks over and over, and reads. Returns what stops it, and resolves with the statuses of incomplete answers. */
function readAlways(gateway: LocalGateway): () => Promise<{ count: number; failed: unknown[] }> {
  let isOver = false;
  const all = (async () => {
    const failed: unknown[] = [];
    let count = 0;
    for (; !isOver; count++) {
      const answer = await gateway.ask(head('GET /whole')).catch(String);
      if (typeof answer === 'string' || answer.bodyBytes !== 100_000) failed.push(answer);
      await sleep(5);
    }
    return { count, failed };
  })();
  const stop = () => {
    isOver = true;
    return all;
  };
  onTestFinished(async () => void (await stop()));
  return stop;
}

test.each<[string, ConfigPart, readonly (readonly [name: string, open: Attack])[]]>([
  ['one thread', {}, areWhole ? ATTACKS : ATTACKS.filter(([name]) => !ALSO.includes(name))],
  // How much each holds is counted in the same way, whatever holds it.
  ['two workers', { workers: 2 }, ATTACKS.slice(0, areWhole ? 2 : 1)],
])(
  'with %s, clients that do not read end at caps.buffered, and nobody who reads',
  async (_, more, attacks) => {
    const gateway = await start(more);
    const stop = readAlways(gateway);
    for (const [name, attack] of attacks) {
      const before = await ended(gateway);
      let most = 0;
      for (let i = 0; i < ATTACKERS; i++) {
        await attack(gateway);
        most = Math.max(most, await held(gateway));
      }
      await gateway.time.advanceUntil(`some of the ${name} end`, async () => {
        most = Math.max(most, await held(gateway));
        return (await ended(gateway)) > before;
      });
      expect(most, name).toBeLessThan(MOST);
    }
    const { count, failed } = await stop();
    expect(failed).toEqual([]);
    expect(count).toBeGreaterThan(0);
    // At most one line a minute and thread.
    const lines = gateway.logLines.filter(line => line.includes('"cap":"buffered"'));
    const times = lines.map(line => Date.parse(JSON.parse(line).time));
    const minutes = 1 + ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 60_000;
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(2 * minutes);
  },
);

test('a reload that lowers caps.buffered ends those who do not read at once', async () => {
  const gateway = await start({}, 64 * MIB);
  for (let i = 0; i < ATTACKERS; i++) await shut(headers(1, request('/endless')))(gateway);
  await waitFor('much is held', async () => (await held(gateway)) > MOST);
  await changeConfig(gateway, {
    caps: { limit_keys: 10_000, event_loop_delay: 'off', buffered: `${CAP / MIB}MiB` },
  });
  await gateway.app.reload();
  expect(await held(gateway)).toBeLessThan(CAP);
  expect(await ended(gateway)).toBeGreaterThan(0);
});

test('kernels keep nothing for clients whose connections ended', async () => {
  const gateway = await start();
  const clients = ATTACKS.filter(([name]) => ['downloads over HTTP/1.1', 'WebSockets'].includes(name));
  for (const [, attack] of clients) for (let i = 0; i < ATTACKERS; i++) await attack(gateway);
  await waitFor('some end', async () => (await ended(gateway)) > ATTACKERS);
  expect(await orphansOf(gateway.port)).toBe(0);
});

/** How many connections of a port nobody holds any more, while the kernel still sends on them (FIN_WAIT1: man 5 proc_net). */
async function orphansOf(port: number): Promise<number> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile('/proc/net/tcp', 'latin1')).split('\n').map(line => line.trim().split(/\s+/));
  return lines.filter(([, address, , state]) => address?.endsWith(local) && state === '04').length;
}
