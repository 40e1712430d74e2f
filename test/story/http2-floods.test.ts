import { constants } from 'node:http2';
import { expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import {
  block,
  connectFrames,
  FLAG,
  type FrameClient,
  frame,
  headers,
  request,
  settings,
  TYPE,
  uint32,
} from '../support/http2-frames.ts';
import { inTime } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, startUpstream } from '../support/wire/index.ts';

const { NGHTTP2_ENHANCE_YOUR_CALM: CALM, NGHTTP2_CANCEL: CANCEL } = constants;
const { NGHTTP2_PROTOCOL_ERROR } = constants;
const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

async function start(
  config: Record<string, unknown> = {},
): Promise<{ gateway: LocalGateway; upstream: CaptureUpstream }> {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/held') return await exchange.gone;
    await exchange.answer(200, [], 'x'.repeat(exchange.request.target === '/large' ? 100_000 : 2));
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C, ...config } });
  return { gateway, upstream };
}

/** Sends a piece over and over, until the gateway has enough of it. */
async function repeat(client: FrameClient, piece: (round: number) => Buffer | Buffer[]): Promise<void> {
  for (let round = 0; !client.closed && round < 2_000; round++) await client.send(...[piece(round)].flat());
}

/** A hundred requests of a round on streams of their own, each followed by a frame about its stream. */
function requests(round: number, then: (stream: number) => Buffer, path = '/held'): Buffer[] {
  return Array.from({ length: 100 }, (_, i) => {
    const stream = 200 * round + 2 * i + 1;
    return [headers(stream, request(path)), then(stream)];
  }).flat();
}

const POST = headers(1, request('/', 'POST'), FLAG.endHeaders);

function times(count: number, piece: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => piece));
}

type Attack = (client: FrameClient) => Promise<void>;

const FLOODS: [name: string, reason: string, goaway: number, attack: Attack][] = [
  [
    'CONTINUATION',
    'continuations',
    CALM,
    async client => {
      await client.send(headers(1, request(), FLAG.endStream));
      await repeat(client, round => frame(TYPE.continuation, 0, 1, block([[`x-${round}`, 'y']])));
    },
  ],
  [
    'malformed requests',
    'resets',
    CALM,
    client => repeat(client, round => headers(2 * round + 1, [...request(), ['Upper', 'x']])),
  ],
  [
    'resets in one breath with their requests',
    'resets',
    CALM,
    client =>
      repeat(client, round => requests(round, stream => frame(TYPE.rstStream, 0, stream, uint32(CANCEL)))),
  ],
  [
    'PING whose answers are not read',
    'control_frames',
    CALM,
    async client => {
      client.pause();
      for (let round = 0; round < 200; round++)
        await client.send(times(100, frame(TYPE.ping, 0, 0, Buffer.alloc(8))));
      client.resume();
    },
  ],
  [
    'SETTINGS that open and shut the windows of many streams',
    'control_frames',
    CALM,
    async client => {
      await client.send(settings([4, 0]), ...requests(0, () => Buffer.alloc(0), '/large'));
      await repeat(client, () => times(100, Buffer.concat([settings([4, 1]), settings([4, 0])])));
    },
  ],
];

test.each(FLOODS)(
  'a flood of %s ends its connection, is counted, and others are served',
  async (...flood) => {
    const [, reason, goaway, attack] = flood;
    const { gateway } = await start();
    const client = await (await connectFrames(gateway.port)).begin();
    await attack(client);
    expect(await client.goaway()).toBe(goaway);
    await waitFor('the connection closes', () => client.closed);
    expect([...(await gateway.counted('weir_http2_faults_total'))]).toEqual([[`{reason="${reason}"}`, 1]]);
    expect(await ask(connectHttp2(gateway), { ':path': '/' })).toMatchObject({ status: 200 });
    await waitFor('nothing of it is in flight', async () => {
      return [...(await gateway.metric('weir_requests_in_flight')).values()][0] === 0;
    });
  },
);

test('a client that streams small messages as fast as it can is no flood, read or waiting', async () => {
  const { gateway, upstream } = await start({ http2: { stream_window: '1MiB', connection_window: '1MiB' } });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(POST);
  for (let i = 0; i < 200; i++) await client.send(times(1_000, frame(TYPE.data, 0, 1, 'x')));
  await waitFor('all has come', () => upstream.requests[0]?.bodyBytes === 200_000 || client.closed);
  await client.send(frame(TYPE.data, FLAG.endStream, 1, 'x'));
  expect(await client.status(1)).toBe(200);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

test('a client that pads what it sends is no flood (RFC 9113, 10.7)', async () => {
  // Padding counts towards the windows (RFC 9113, 6.9.1).
  const http2 = { stream_window: '1MiB', connection_window: '1MiB' };
  const { gateway, upstream } = await start({ http2, timeouts: { client_header: '1s' } });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(POST);
  const padded = frame(TYPE.data, FLAG.padded, 1, Buffer.concat([Buffer.of(255), Buffer.alloc(256)]));
  for (let sent = 500; sent <= 20_000; sent += 500) {
    await client.send(times(500, padded));
    await waitFor('it has come', () => upstream.requests[0]?.bodyBytes === sent || client.closed);
  }
  await afterSweeps(gateway);
  await client.send(frame(TYPE.data, FLAG.endStream, 1, 'x'));
  expect(await client.status(1)).toBe(200);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

test('a client with long trailers is no flood', async () => {
  const { gateway } = await start({ timeouts: { client_header: '1s' } });
  const client = await (await connectFrames(gateway.port)).begin();
  for (let round = 0; round < 20; round++) {
    const streams = Array.from({ length: 50 }, (_, i) => 100 * round + 2 * i + 1);
    for (const stream of streams) {
      await client.send(
        headers(stream, request('/', 'POST'), FLAG.endHeaders),
        frame(TYPE.data, 0, stream, 'x'),
      );
      await client.send(headers(stream, [['x-note', 'n'.repeat(4_096)]]));
    }
    for (const stream of streams) expect(await client.status(stream)).toBe(200);
  }
  await afterSweeps(gateway);
  expect(client.closed).toBe(false);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

test('small messages with other frames beside them are a flood', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(POST);
  const round = [frame(TYPE.data, 0, 1, 'x'), times(100, frame(TYPE.windowUpdate, 0, 1, uint32(1)))];
  await repeat(client, () => times(50, Buffer.concat(round)));
  expect(await client.goaway()).toBe(CALM);
  expect([...(await gateway.counted('weir_http2_faults_total'))]).toEqual([['{reason="control_frames"}', 1]]);
});

test('small messages that their upstream does not read are no flood, not even once they are given up', async () => {
  const upstream = await startUpstream(async exchange => {
    exchange.connection.pause();
    await exchange.received();
  });
  const http2 = { stream_window: '16MiB', connection_window: '16MiB' };
  const config = { listen: H2C, http2, timeouts: { client_header: '1s' } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/', 'PUT'), FLAG.endHeaders));
  // More than the system holds for the upstream.
  for (let i = 0; i < 960; i++) await client.send(frame(TYPE.data, 0, 1, Buffer.alloc(16_384)));
  for (let i = 0; i < 200; i++) await client.send(times(1_000, frame(TYPE.data, 0, 1, 'x')));
  await afterSweeps(gateway);
  await client.send(frame(TYPE.rstStream, 0, 1, uint32(CANCEL)));
  await afterSweeps(gateway);
  expect(client.closed).toBe(false);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

/** A connection that sends nothing is closed by a sweep after `client_header`, which is a second. */
async function afterSweeps(gateway: LocalGateway): Promise<void> {
  const silent = await connectFrames(gateway.port);
  await gateway.time.advanceUntil('the gateway has swept', () => silent.closed);
}

test('requests that are reset once they are under way end their connection, and each ends upstream', async () => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  for (let round = 0; !client.closed && round < 40; round++) {
    // Half of max_streams: the gateway may still be at the resets of the last ones.
    const streams = Array.from({ length: 64 }, (_, i) => 128 * round + 2 * i + 1);
    await client.send(...streams.map(stream => headers(stream, request('/held'))));
    const arrived = () => upstream.requests.length === 64 * (round + 1) || client.closed;
    await waitFor('the requests arrive', arrived);
    await client.send(...streams.map(stream => frame(TYPE.rstStream, 0, stream, uint32(CANCEL))));
  }
  expect(await client.goaway()).toBe(CALM);
  expect([...(await gateway.counted('weir_http2_faults_total'))]).toEqual([['{reason="resets"}', 1]]);
  expect(upstream.requests.length).toBeLessThan(1_500);
  await waitFor('the upstream connections are gone', () => upstream.openConnections.length === 0);
});

test('responses that the service breaks off cost no client its connection, however many', async () => {
  const upstream = await startUpstream(async exchange => {
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    exchange.connection.destroy();
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } });
  const session = connectHttp2(gateway);
  for (let round = 0; round < 15; round++) {
    const asked = Array.from({ length: 50 }, () => ask(session, { ':path': '/a' }));
    const codes = new Set((await Promise.all(asked)).map(({ rstCode }) => rstCode));
    expect([...codes]).toEqual([NGHTTP2_INTERNAL_ERROR]);
  }
  expect(session.closed).toBe(false);
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

test('a refusal that its client neither reads nor sends the rest of its request for ends by a reset, and so does its connection', async () => {
  const { gateway } = await start({ timeouts: { client_read: '1s' } });
  const client = await (await connectFrames(gateway.port)).begin([4, 0]);
  await client.send(headers(1, request('/a/../b', 'POST'), FLAG.endHeaders));
  expect(await client.status(1)).toBe(400);
  // Without the reset, nghttp2 would send empty DATA in an endless loop once it may send again.
  expect(await inTime(gateway.time, client.reset(1))).toBe(NGHTTP2_INTERNAL_ERROR);
  expect(await inTime(gateway.time, client.goaway())).toBe(NGHTTP2_NO_ERROR);
});

test('a body that outgrows its Content-Length is answered 400, and never reaches the upstream as a whole', async () => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(
    headers(1, [...request('/held', 'POST'), ['content-length', '2']], FLAG.endHeaders),
    frame(TYPE.data, 0, 1, 'x'),
  );
  await waitFor('the request arrives', () => upstream.requests[0]?.bodyBytes === 1);
  await client.send(frame(TYPE.data, 0, 1, 'xx'));
  expect(await client.status(1)).toBe(400);
  expect(await client.reset(1)).toBe(NGHTTP2_PROTOCOL_ERROR);
  await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
  expect(upstream.onlyRequest.complete).toBe(false);
});

test('a header list that HPACK swells is refused by its true size, and its connection ends', async () => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  const long = 'x'.repeat(4_000);
  // Literal with indexing, then by its index in the dynamic table (RFC 7541, 6.2.1 and 6.1).
  const first = block([['a', long]]);
  first[0] = 0x40;
  const bomb = (head: Buffer) => Buffer.concat([block(request()), head, Buffer.alloc(2_000, 0xbe)]);
  const flags = FLAG.endStream | FLAG.endHeaders;
  await client.send(frame(TYPE.headers, flags, 1, bomb(first)));
  expect(await client.status(1)).toBe(431);
  await repeat(client, round => frame(TYPE.headers, flags, 2 * round + 3, bomb(Buffer.alloc(0))));
  expect(await client.goaway()).toBe(CALM);
  expect(upstream.requests).toEqual([]);
});

test('a client that reads nothing and asks on gets no more than the memory of its connection holds', async () => {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    await exchange.answer(200, ['X-Long', 'x'.repeat(8_000)], '');
  });
  const config = { listen: H2C, http2: { session_memory: '1MiB' } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const client = await (await connectFrames(gateway.port)).begin();
  client.pause();
  // 160 MB of heads.
  for (let round = 0; !client.closed && round < 200; round++) {
    const stream = (i: number) => 200 * round + 2 * i + 1;
    await client.send(...Array.from({ length: 100 }, (_, i) => headers(stream(i), request('/'))));
    const arrived = upstream.requests.length;
    expect(arrived).toBeLessThan(3_000);
  }
  await waitFor('it is cut off', async () => {
    return (await gateway.counted('weir_http2_faults_total')).get('{reason="refused_streams"}') === 1;
  });
  expect(await ask(connectHttp2(gateway), { ':path': '/' })).toMatchObject({ status: 200 });
});

test('a response that waits for its window is over at once when its client resets the stream without an error', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin([4, 0]);
  await client.send(headers(1, request('/a/../b')));
  expect(await client.status(1)).toBe(400);
  await client.send(frame(TYPE.rstStream, 0, 1, uint32(NGHTTP2_NO_ERROR)));
  await waitFor('nothing is in flight', async () => (await inFlight(gateway)) === 0);
});

test('an upload that its upstream does not read is over when its client resets the stream without an error', async () => {
  const upstream = await startUpstream(async exchange => {
    exchange.connection.pause();
    await exchange.received();
  });
  const config = { listen: H2C, http2: { stream_window: '16MiB', connection_window: '16MiB' } };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/', 'PUT'), FLAG.endHeaders));
  for (let i = 0; i < 1_000; i++) await client.send(frame(TYPE.data, 0, 1, Buffer.alloc(16_384)));
  await client.send(frame(TYPE.rstStream, 0, 1, uint32(NGHTTP2_NO_ERROR)));
  await waitFor('nothing is in flight', async () => (await inFlight(gateway)) === 0);
});

async function inFlight(gateway: LocalGateway): Promise<number | undefined> {
  return [...(await gateway.metric('weir_requests_in_flight')).values()][0];
}

test.each([
  ['sends nothing', ''],
  ['stops inside the preface', 'PRI * HTTP/2.0\r\n'],
  ['sends no SETTINGS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
])('a connection that %s is closed after client_header', async (_, bytes) => {
  const { gateway } = await start({ timeouts: { client_header: '1s' } });
  const client = await connectFrames(gateway.port);
  await client.send(bytes);
  await gateway.time.advanceUntil('the connection closes', () => client.closed);
});

test('a connection that stops inside of a frame, of its head or of a header block is closed after keep_alive', async () => {
  const { gateway, upstream } = await start({ timeouts: { keep_alive: '1s' } });
  const ping = frame(TYPE.ping, 0, 0, Buffer.alloc(8));
  const parts = [ping.subarray(0, 5), ping.subarray(0, 12), headers(1, request()).subarray(0, 20)];
  const clients = [...parts, headers(1, request(), FLAG.endStream)].map(async bytes => {
    const client = await (await connectFrames(gateway.port)).begin();
    await client.send(bytes);
    return client;
  });
  const begun = await Promise.all(clients);
  await gateway.time.advanceUntil('the connections close', () => begun.every(({ closed }) => closed));
  expect(upstream.requests).toEqual([]);
});
