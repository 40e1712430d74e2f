import { type ClientHttp2Stream, constants } from 'node:http2';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { ask, connectHttp2, H2C, read } from '../support/http2-client.ts';
import { connectFrames, FLAG, frame, headers, request, TYPE } from '../support/http2-frames.ts';
import { inTime } from '../support/test-clock.ts';
import { settled, waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';

const MIB = 1024 * 1024;
const BLOCK = Buffer.alloc(MIB, 'x');
/** Much larger than what kernels keep of a connection. */
const LARGE = 64 * MIB;
const BUFFERS = 32 * MIB;
const config = { listen: H2C };

test('a client that does not read one stream holds up its upstream, and no other stream', async () => {
  let sent = 0;
  const upstream = await startUpstream(async exchange => {
    if (exchange.request.target === '/quick') return await exchange.answer(200, [], BLOCK);
    await exchange.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
    for (; sent < LARGE; sent += MIB) await exchange.send(BLOCK);
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const session = connectHttp2(gateway);
  const stream = session.request({ ':path': '/slow' });
  await waitFor('the response flows', () => sent > 0);
  expect(await settled(() => sent)).toBeLessThan(BUFFERS);
  for (let i = 0; i < 3; i++) {
    const { body } = await ask(session, { ':path': '/quick' });
    expect(body.length).toBe(MIB);
  }
  expect((await read(stream)).body.length).toBe(LARGE);
});

test('an upstream that does not read holds up its client, until it reads', async () => {
  const upstream = await startUpstream(async exchange => {
    if (exchange.request.method === 'GET') return await exchange.answer(200);
    exchange.connection.pause();
    await exchange.received();
    await exchange.answer(200);
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const session = connectHttp2(gateway);
  const stream = session.request({ ':path': '/', ':method': 'PUT', 'content-length': LARGE });
  const response = read(stream);
  let taken = 0;
  void upload(stream, piece => {
    taken += piece;
  });
  await waitFor('the body flows', () => taken > MIB);
  expect(await settled(() => taken)).toBeLessThan(BUFFERS);
  expect(await ask(session, { ':path': '/other' })).toMatchObject({ status: 200 });
  upstream.requests[0]?.connection.resume();
  expect(await response).toMatchObject({ status: 200, rstCode: 0 });
  expect(upstream.requests[0]).toMatchObject({ complete: true, bodyBytes: LARGE });
});

async function upload(stream: ClientHttp2Stream, taken: (bytes: number) => void): Promise<void> {
  for (let i = 0; i < LARGE / MIB; i++) {
    await new Promise<void>(resolve => void stream.write(BLOCK, () => resolve()));
    taken(MIB);
  }
  stream.end();
}

test('a window is as large as the configuration says, for a stream and for the connection', async () => {
  const held: Script = exchange => exchange.gone;
  const upstream = await startUpstream(held);
  const http2 = { stream_window: '32KiB', connection_window: '256KiB', max_streams: 7 };
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { ...config, http2 } });
  const client = await (await connectFrames(gateway.port)).begin();
  const { payload } = await client.next(({ type, flags }) => type === TYPE.settings && flags === 0);
  const told = new Map<number, number>();
  for (let at = 0; at < payload.length; at += 6)
    told.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  expect([told.get(3), told.get(4)]).toEqual([7, 32_768]);
  const update = await client.next(({ type, stream }) => type === TYPE.windowUpdate && stream === 0);
  expect(update.payload.readUInt32BE()).toBe(262_144 - 65_535);
  await client.send(headers(1, request('/', 'POST'), FLAG.endHeaders));
  for (let i = 0; i < 3; i++) await client.send(frame(TYPE.data, 0, 1, 'x'.repeat(16_384)));
  // Past its window: a stream must not send more (RFC 9113, 6.9.1).
  expect(await client.reset(1)).toBe(constants.NGHTTP2_FLOW_CONTROL_ERROR);
});

test('the body of a request that no gate has let through yet is not read beyond its window', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, api: { max_requests: 1 }, config });
  const client = await (await connectFrames(gateway.port)).begin();
  await client.send(headers(1, request('/a', 'POST'), FLAG.endHeaders));
  await waitFor('the first one is upstream', () => upstream.requests.length === 1);
  await client.send(
    headers(3, request('/b', 'POST'), FLAG.endHeaders),
    frame(TYPE.data, 0, 3, 'x'.repeat(16_384)),
  );
  expect(await inTime(gateway.time, client.status(3))).toBe(503);
  expect(await inTime(gateway.time, client.reset(3))).toBe(0);
  const updates = client.frames.filter(({ type, stream }) => type === TYPE.windowUpdate && stream === 3);
  expect(updates).toEqual([]);
});
