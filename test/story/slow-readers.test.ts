import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { framed } from '../support/grpc.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { H2C } from '../support/http2-client.ts';
import {
  connectFrames,
  FLAG,
  type FrameClient,
  frame,
  headers,
  request,
  TYPE,
  uint32,
} from '../support/http2-frames.ts';
import { shared } from '../support/lifetime.ts';
import { Random } from '../support/random.ts';
import {
  agreementToHead,
  handshake,
  frame as message,
  startRawUpstream,
} from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { areWhole, runs } from '../support/runs.ts';
import { settled, sleep, waitFor } from '../support/wait.ts';
import { WatchedTables } from '../support/watched-tables.ts';
import { type RawClient, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const MIB = 1024 * 1024;
const CLIENTS = runs(32, 8);

/** `/length/N` and `/chunked/N` answer with body number N. */
function answering(bodies: readonly Buffer[]): Script {
  return async exchange => {
    const [, framing, number] = exchange.request.target.split('/');
    const body = bodies[Number(number)] ?? Buffer.alloc(0);
    if (framing === 'length') return await exchange.answer(200, [], body);
    await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let at = 0; at < body.length; at += 50_000) {
      const piece = body.subarray(at, at + 50_000);
      await exchange.send(`${piece.length.toString(16)}\r\n`);
      await exchange.send(piece);
      await exchange.send('\r\n');
    }
    await exchange.send('0\r\n\r\n');
  };
}

/** Sends a body without end. */
const endless: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (; ; chunksSent++) await exchange.send(CHUNK);
};
let chunksSent = 0;
const CHUNK = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);

/** Reads for a moment and stalls for another, until the response is there. */
async function stutter(client: RawClient, stallMs: number, done: () => boolean): Promise<void> {
  while (!done()) {
    client.pause();
    await sleep(stallMs);
    client.resume();
    await sleep(1);
  }
}

test('clients that read fast, slowly and hardly at all each get their own bytes', async () => {
  // Of a period that nothing else has.
  const bodies = Array.from({ length: 8 }, (_, i) => Buffer.alloc(2 * MIB, new Random(i).bytes(4_093)));
  const upstream = await startUpstream(answering(bodies));
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const read = async (number: number): Promise<string> => {
    const client = await gateway.connect();
    const hash = createHash('sha1');
    let done = false;
    const response = client.ask(head(`GET /${number % 2 === 0 ? 'length' : 'chunked'}/${number}`), {
      keepBytes: 0,
      onData: bytes => hash.update(bytes),
    });
    void response.finally(() => {
      done = true;
    });
    if (number % 4 > 0) void stutter(client, 10 * (number % 4), () => done);
    expect(await response).toMatchObject({ complete: true, bodyBytes: 2 * MIB });
    return hash.digest('hex');
  };
  const digests = await Promise.all(bodies.map((_, i) => read(i)));
  expect(digests).toEqual(bodies.map(body => createHash('sha1').update(body).digest('hex')));
});

test('clients that stop reading and go free all their upstream connections', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.connect()));
  for (const client of clients) {
    client.pause();
    await client.send(head('GET /a'));
  }
  await waitFor('all wait', () => upstream.requests.length === CLIENTS);
  await settled(() => chunksSent);
  for (const [i, client] of clients.entries()) client[i % 2 === 0 ? 'reset' : 'destroy']();
  await waitFor('all are free', () => upstream.openConnections.length === 0);
  upstream.script = exchange => exchange.answer(200, [], 'ok');
  expect((await gateway.ask(head('GET /after'))).body.toString()).toBe('ok');
});

test('clients that stop reading and stay free their upstream connections when their time is over', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { timeouts: { client_read: '1s' } },
  });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.connect()));
  for (const client of clients) {
    client.pause();
    await client.send(head('GET /a'));
  }
  await waitFor('all wait', () => upstream.requests.length === CLIENTS);
  await settled(() => chunksSent);
  await gateway.time.advanceUntil('all are free', () => upstream.openConnections.length === 0);
});

test('a client that does not read is disconnected although it keeps sending requests byte by byte', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { timeouts: { client_read: '1s' } },
  });
  const client = await gateway.connect();
  client.pause();
  await client.send(head('GET /a'));
  await waitFor('it waits', () => upstream.requests.length === 1);
  const sendOne = async () => {
    await client.send('G');
    return upstream.openConnections.length === 0;
  };
  await gateway.time.advanceUntil('it is disconnected', sendOne, 100);
});

/** A client in front of a response without end. */
interface Reader {
  /** Takes so many bytes more, if the gateway has not ended it. */
  read(bytes: number): Promise<void>;
  readonly isEnded: () => boolean;
  readonly leave: () => void;
}

/** The clients who read: each has the least that one can see it read, by its window or by the buffers of the system. */
interface Dialect {
  readonly unit: number;
  readonly open: (gateway: LocalGateway, path: string) => Promise<Reader>;
}

const MAX_WINDOW = 0x7fff_ffff;
const WINDOW_UNIT = 1_000;
/**
 * Kernels tell the other end of room in steps: of a sixteenth of their buffer, which grows to 32 MiB here with what is read at a
 * time. So much a second is several such steps in `CLIENT_READ`: less could look like a client that reads nothing.
 */
const SOCKET_UNIT = 2 * MIB;

/** Reads of the socket. */
const ofSocket =
  (asked: (path: string) => string): Dialect['open'] =>
  async (gateway, path) => {
    const client = await gateway.connect();
    await client.send(asked(path));
    client.pause();
    return readerOf(client, () => client.end !== null);
  };

/** Reads so much of a socket, and no more. */
function readerOf(
  client: Pick<RawClient | FrameClient, 'pause' | 'resume' | 'bytesRead' | 'destroy'>,
  isEnded: () => boolean,
): Reader {
  let wanted = client.bytesRead;
  return {
    isEnded,
    leave: () => client.destroy(),
    read: async bytes => {
      wanted += bytes;
      client.resume();
      if (bytes > 0) await waitFor('it has read', () => client.bytesRead >= wanted || isEnded());
      client.pause();
    },
  };
}

/** A stream whose client widens windows by what it reads: its own, or the connection's. */
const ofWindow =
  (streamWindow: number, asked: (path: string) => Buffer, widened = 1): Dialect['open'] =>
  async (gateway, path) => {
    const client = await (await connectFrames(gateway.port)).begin([4, streamWindow]);
    if (widened > 0) await client.send(frame(TYPE.windowUpdate, 0, 0, uint32(MAX_WINDOW - 65_535)));
    await client.send(asked(path));
    const isEnded = () => client.closed || client.frames.some(({ type }) => type === TYPE.rstStream);
    const leave = () => client.destroy();
    return { isEnded, leave, read: bytes => widen(client, widened, bytes, isEnded) };
  };

/** Lets the gateway send so much more on a stream, or on all of them, and waits for that. */
async function widen(
  client: FrameClient,
  stream: number,
  bytes: number,
  isEnded: () => boolean,
): Promise<void> {
  if (bytes === 0) return;
  const wanted = client.bytesRead + bytes;
  await client.send(frame(TYPE.windowUpdate, 0, stream, uint32(bytes)));
  await waitFor('it has come', () => client.bytesRead >= wanted || isEnded());
}

const get = (path: string) => headers(1, request(path));
const webSocket = (path: string) =>
  headers(
    1,
    [...request(path, 'CONNECT'), [':protocol', 'websocket'], ['sec-websocket-version', '13']],
    FLAG.endHeaders,
  );
const call = (type: string) => () =>
  Buffer.concat([
    headers(1, [...request(CALL, 'POST'), ['content-type', type], ['te', 'trailers']], FLAG.endHeaders),
    frame(TYPE.data, FLAG.endStream, 1, framed('')),
  ]);
const CALL = '/test.v1.Echo/Download';
const WEB = 'application/grpc-web+proto';

const DIALECTS: readonly (readonly [string, Dialect])[] = [
  ['HTTP/1.1', { unit: SOCKET_UNIT, open: ofSocket(path => head(`GET ${path}`)) }],
  ['a stream of HTTP/2', { unit: WINDOW_UNIT, open: ofWindow(0, get) }],
  ['a connection of HTTP/2 by its window', { unit: WINDOW_UNIT, open: ofWindow(MAX_WINDOW, get, 0) }],
  [
    'a connection of HTTP/2 by its socket',
    {
      unit: SOCKET_UNIT,
      open: async (gateway, path) => {
        const client = await (await connectFrames(gateway.port)).begin([4, MAX_WINDOW]);
        client.pause();
        await client.send(frame(TYPE.windowUpdate, 0, 0, uint32(MAX_WINDOW - 65_535)), get(path));
        return readerOf(client, () => client.closed);
      },
    },
  ],
  ['a WebSocket', { unit: SOCKET_UNIT, open: ofSocket(path => handshake(`/socket${path}`)) }],
  ['a WebSocket over HTTP/2', { unit: WINDOW_UNIT, open: ofWindow(0, path => webSocket(`/socket${path}`)) }],
  ['a gRPC stream', { unit: WINDOW_UNIT, open: ofWindow(0, call('application/grpc')) }],
  ['gRPC-Web over HTTP/2', { unit: WINDOW_UNIT, open: ofWindow(0, call(WEB)) }],
  [
    'gRPC-Web over HTTP/1.1',
    {
      unit: SOCKET_UNIT,
      open: ofSocket(
        () =>
          head(`POST ${CALL}`, `Content-Type: ${WEB}`, 'Content-Length: 5') + framed('').toString('latin1'),
      ),
    },
  ],
];

/** An average of so long counts, which is so many sweeps. */
const CLIENT_READ = '4s';
const SWEEP_MS = 500;
const SWEEPS = 11;

interface Endless {
  readonly gateway: LocalGateway;
  readonly time: FrozenClock;
  readonly tables: WatchedTables;
}

/** A gateway in front of services that never end. Time passes only when the test says so. */
async function endlessly(minReadRate: string): Promise<Endless> {
  const [time, tables] = [new FrozenClock(Date.now()), new WatchedTables()];
  const upstream = await startUpstream(endless);
  const sockets = await startRawUpstream(peer => {
    const piece = message(Buffer.alloc(MIB), { opcode: 2 });
    const fill = () => {
      while (peer.socket.writable && peer.socket.write(piece));
    };
    peer.socket.write(agreementToHead(peer.head), 'latin1');
    peer.socket.on('drain', fill);
    fill();
  });
  const calls = await startH2Upstream(({ stream }: H2Request) => {
    const fill = () => {
      while (!stream.destroyed && stream.write(framed('x'.repeat(16_384))));
    };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
    stream.on('drain', fill);
    fill();
  });
  const open = { upstream: 'api', authentication: 'none' };
  const socket = { upstream: 'sockets', websocket: true };
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    clock: time,
    files: tables.files,
    config: {
      listen: H2C,
      timeouts: { client_read: CLIENT_READ },
      min_read_rate: minReadRate,
      upstreams: {
        api: { url: `http://127.0.0.1:${upstream.port}` },
        sockets: { url: `http://127.0.0.1:${sockets.port}` },
        calls: { url: `http://127.0.0.1:${calls.port}`, protocol: 'grpc' },
      },
      routes: [
        { path: '/a', ...open },
        { path: '/off', ...open, min_read_rate: 'off' },
        { path: '/strict', ...open, min_read_rate: '1GiB/s' },
        { path: '/socket/off', ...open, ...socket, min_read_rate: 'off' },
        { path: '/socket/strict', ...open, ...socket, min_read_rate: '1GiB/s' },
        { path: '/socket/a', ...open, ...socket },
        { grpc: 'test.v1.Echo/*', ...open, upstream: 'calls', grpc_web: true },
      ],
    },
  });
  return { gateway, time, tables };
}

/**
 * Lets time pass while the client reads so many bytes a second, for which more waits all the time, until it is ended.
 *
 * @param sweeps default: so many that an average is found several times
 */
async function keepReading(
  bytesPerS: number,
  reader: Pick<Reader, 'read' | 'isEnded'>,
  { gateway, time, tables }: Endless,
  sweeps = SWEEPS,
): Promise<void> {
  const before = await ended(gateway);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    await reader.read((bytesPerS * SWEEP_MS) / 1_000);
    let more = 0;
    await waitFor('more waits, since the system takes no more', async () => {
      const last = more;
      more = await waiting(gateway);
      return (
        (more > 0 && more === last) || reader.isEnded() || !isDeepStrictEqual(await ended(gateway), before)
      );
    });
    if (more === 0) break;
    time.advance(SWEEP_MS);
    await tables.read();
  }
}

/** The same, after which the client leaves. Returns how many were ended meanwhile, and why. */
async function readAt(bytesPerS: number, reader: Reader, front: Endless, sweeps?: number): Promise<unknown> {
  const before = await ended(front.gateway);
  await keepReading(bytesPerS, reader, front, sweeps);
  reader.leave();
  await waitFor('nothing waits', async () => (await waiting(front.gateway)) === 0);
  return [...(await front.gateway.countedSince(before, 'weir_readers_ended_total'))];
}

/** Enough for buffers to become as large as they become: what fills them is not what the client wants. */
const UNTIL_ENDED = 200;

const SLOW = [['{reason="slow"}', 1]];
const waiting = async (gateway: LocalGateway) =>
  [...(await gateway.metric('weir_buffered_bytes')).values()][0] ?? 0;
const ended = (gateway: LocalGateway) => gateway.counted('weir_readers_ended_total');

/** Shared: each reader leaves, and nothing of it is left. */
const RATES = new Map(
  [WINDOW_UNIT, SOCKET_UNIT].map(unit => [
    unit,
    {
      lenient: shared(() => endlessly(`${unit / 2}B/s`)),
      strict: shared(() => endlessly(`${2 * unit}B/s`)),
    },
  ]),
);
const withoutRate = shared(() => endlessly('off'));

/** One of each terminal: those whose windows show what they read, which takes the fewest bytes. */
const FIRST = ['a stream of HTTP/2', 'a WebSocket over HTTP/2'];

/** What reads by the same window or socket, of a terminal that another shows. */
const ALSO = ['a connection of HTTP/2 by its socket', 'gRPC-Web over HTTP/2', 'gRPC-Web over HTTP/1.1'];

describe.each(DIALECTS.filter(([name]) => areWhole || !ALSO.includes(name)))(
  'a client of %s that reads',
  (name, { unit, open }) => {
    test('half of min_read_rate is ended, and one that reads twice as much is not', async () => {
      const [lenient, strict] = [await RATES.get(unit)?.lenient(), await RATES.get(unit)?.strict()];
      if (lenient === undefined || strict === undefined) throw new Error(`no gateways for ${unit}`);
      expect(await readAt(unit, await open(lenient.gateway, '/a'), lenient)).toEqual([]);
      expect(await readAt(unit, await open(strict.gateway, '/a'), strict, UNTIL_ENDED)).toEqual(SLOW);
      // Calls have one route here. Of the others one kind of each terminal is enough for npm test.
      if (name.includes('gRPC') || !(areWhole || FIRST.includes(name))) return;
      // A route's own rate is what holds.
      expect(await readAt(unit, await open(strict.gateway, '/off'), strict)).toEqual([]);
      expect(await readAt(unit, await open(lenient.gateway, '/strict'), lenient, UNTIL_ENDED)).toEqual(SLOW);
    });

    if (!areWhole && !FIRST.includes(name)) return;
    test('something is not ended while there is no such rate, and one that reads nothing is', async () => {
      const front = await withoutRate();
      expect(await readAt(unit, await open(front.gateway, '/a'), front)).toEqual([]);
      expect(await readAt(0, await open(front.gateway, '/a'), front, UNTIL_ENDED)).toEqual(SLOW);
    });
  },
);

test('a stream that its client does not read ends, and another on its connection goes on', async () => {
  const front = await endlessly(`${WINDOW_UNIT}B/s`);
  const client = await (await connectFrames(front.gateway.port)).begin([4, 0]);
  await client.send(
    frame(TYPE.windowUpdate, 0, 0, uint32(MAX_WINDOW - 65_535)),
    headers(1, request('/a')),
    headers(3, request('/a')),
  );
  const isReset = (stream: number) =>
    client.frames.some(each => each.type === TYPE.rstStream && each.stream === stream);
  const active = {
    isEnded: () => client.closed || isReset(3),
    read: (bytes: number) => widen(client, 3, bytes, () => client.closed || isReset(3)),
  };
  await keepReading(2 * WINDOW_UNIT, active, front);
  expect([isReset(1), active.isEnded()]).toEqual([true, false]);
  expect([...(await ended(front.gateway))]).toEqual(SLOW);
});
