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
  PREFACE,
  request,
  settings,
  TYPE,
  uint32,
} from '../support/http2-frames.ts';
import { shared } from '../support/lifetime.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, startUpstream } from '../support/wire/index.ts';

/** Error codes (RFC 9113, 7). */
const CODE = {
  ...{ protocol: 1, flowControl: 3, streamClosed: 5, frameSize: 6, refusedStream: 7, compression: 9 },
} as const;
const END = FLAG.endStream | FLAG.endHeaders;

const started = shared(async () => {
  const upstream = await startUpstream(async exchange => {
    if (exchange.request.target === '/held') return await exchange.gone;
    await exchange.received();
    await exchange.answer(200, [], 'ok');
  });
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, config: { listen: H2C } }) };
});

/** The gateway of most tests here. Streams that `/held` leaves open, and `/` closes. */
async function start(): Promise<{ gateway: LocalGateway; upstream: CaptureUpstream }> {
  const { gateway, upstream } = await started();
  await upstream.renew();
  return { gateway, upstream };
}

const held = (stream: number, flags: number = END) => headers(stream, request('/held'), flags);
const post = (stream: number, ...fields: [string, string][]) =>
  headers(stream, [...request('/held', 'POST'), ...fields], FLAG.endHeaders);
const data = (stream: number, bytes: Buffer | string = 'x', flags = 0) =>
  frame(TYPE.data, flags, stream, bytes);
const field = (...bytes: number[]) => Buffer.concat([block(request('/held')), Buffer.from(bytes)]);
const headersOf = (stream: number, payload: Buffer, flags = END) =>
  frame(TYPE.headers, flags, stream, payload);

/** What ends the connection, section by section of RFC 9113 and RFC 7541. */
const CONNECTION_ERRORS: [name: string, code: number, ...frames: Buffer[]][] = [
  ['a frame larger than the maximum (4.2)', CODE.frameSize, post(1), data(1, Buffer.alloc(16_385))],
  ['a header block that ends early (4.3)', CODE.compression, headersOf(1, field(0, 5))],
  ['a stream below the last one (5.1.1)', CODE.protocol, held(5), held(3)],
  [
    'SETTINGS that swell a window past its limit (6.9.2)',
    CODE.flowControl,
    held(1),
    frame(TYPE.windowUpdate, 0, 1, uint32(0x7fffffff - 65_535)),
    settings([4, 65_536]),
  ],
  ['DATA behind the end of a request (5.1)', CODE.streamClosed, held(1), data(1)],
];

test.each(CONNECTION_ERRORS)(
  'the connection ends by the code of RFC 9113 at %s',
  async (_, code, ...frames) => {
    const { gateway } = await start();
    const client = await (await connectFrames(gateway.port)).begin();
    await client.send(...frames);
    expect(await client.goaway()).toBe(code);
    await waitFor('the connection closes', () => client.closed);
    await isUnharmed(gateway);
  },
);

test('HEADERS behind the end of a stream that is closed end the connection (5.1)', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/')));
  await client.next(
    ({ type, stream, flags }) => type === TYPE.data && stream === 1 && (flags & FLAG.endStream) !== 0,
  );
  await client.send(headers(1, request('/')));
  expect(await client.goaway()).toBe(CODE.streamClosed);
  await isUnharmed(gateway);
});

/** The code of RST_STREAM or GOAWAY, whichever comes first. */
async function endOf(client: FrameClient, stream: number): Promise<number> {
  const { type, payload } = await client.next(
    each => each.type === TYPE.goaway || (each.type === TYPE.rstStream && each.stream === stream),
  );
  return payload.readUInt32BE(type === TYPE.goaway ? 4 : 0);
}

test('what may come late for a closed stream is ignored (5.1), as are unknown frames, flags and settings (4.1, 5.5, 6.5.2)', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/')));
  expect(await client.status(1)).toBe(200);
  await client.send(
    frame(TYPE.windowUpdate, 0, 1, uint32(100)),
    frame(TYPE.rstStream, 0, 1, uint32(8)),
    frame(TYPE.priority, 0, 1, Buffer.alloc(5)),
    frame(TYPE.priority, 0, 77, Buffer.alloc(5)),
    frame(TYPE.ping, FLAG.ack, 0, Buffer.alloc(8)),
    frame(0x42, 0xff, 1, 'unknown'),
    settings([0xff, 1], [0, 0]),
    headers(3, request('/'), END | 0xc2),
  );
  expect(await client.status(3)).toBe(200);
});

test('a stream of the highest number is served, as is the connection behind it', async () => {
  const { gateway } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(0x7fffffff, request('/')));
  expect(await client.status(0x7fffffff)).toBe(200);
  await isUnharmed(gateway);
});

test('streams past the maximum are refused one by one, and the others go on (5.1.2)', async () => {
  const { gateway, upstream } = await start();
  const client = await (await connectFrames(gateway.port)).begin();
  const streams = Array.from({ length: 138 }, (_, i) => 2 * i + 1);
  await client.send(...streams.map(stream => held(stream)));
  for (const stream of streams.slice(128)) expect(await client.reset(stream)).toBe(CODE.refusedStream);
  await waitFor('the others arrive', () => upstream.requests.length === 128);
  await client.send(frame(TYPE.rstStream, 0, 1, uint32(8)), headers(1_001, request('/')));
  expect(await client.status(1_001)).toBe(200);
});

test.each([
  ['of one stream', { stream_window: '16KiB' }, 16_384],
  ['of the connection', { stream_window: '1MiB', connection_window: '64KiB' }, 65_535],
])('a body past the window %s is a fault of flow control (6.9.1)', async (_, http2, window) => {
  const upstream = await startUpstream(async exchange => {
    exchange.connection.pause();
    await exchange.gone;
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { listen: H2C, http2 } });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(post(1));
  // Without a wait, so that no window is opened in between.
  await client.send(...Array.from({ length: 1_000 }, () => data(1, Buffer.alloc(16_384))));
  expect(window).toBeGreaterThan(0);
  expect(await endOf(client, 1)).toBe(CODE.flowControl);
});

test.each([
  ['HEADERS before SETTINGS', [PREFACE, headers(1, request('/'))]],
  ['a preface with another end', ['PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n', settings()]],
])('a preface is wrong with %s, and its connection ends (3.4)', async (_, bytes) => {
  const { gateway, upstream } = await start();
  const client = await connectFrames(gateway.port);
  await client.send(...bytes);
  await waitFor('the connection closes', () => client.closed);
  const said = client.frames.filter(({ type }) => type === TYPE.goaway);
  for (const { payload } of said) expect(payload.readUInt32BE(4)).toBe(CODE.protocol);
  expect(upstream.requests).toEqual([]);
  await isUnharmed(gateway);
});

/** Another connection is served, and what the first one had under way is over. */
async function isUnharmed(gateway: LocalGateway): Promise<void> {
  expect(await ask(connectHttp2(gateway), { ':path': '/' })).toMatchObject({ status: 200 });
}
