import { once } from 'node:events';
import type { ServerOptions } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import type { CollectingSink } from '../support/collecting-sink.ts';
import {
  FLAG,
  type FrameScript,
  frame,
  headers,
  startFrameUpstream,
  TYPE,
  uint32,
} from '../support/frame-upstream.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { HandBody } from '../support/hand-body.ts';
import { sessionsTo } from '../support/sessions.ts';
import { ask, send } from '../support/transport-calls.ts';
import { settled, waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

async function front(
  answer?: (request: H2Request) => unknown,
  options: Partial<UpstreamOptions> = {},
  server: ServerOptions = {},
) {
  const upstream = await startH2Upstream(answer, server);
  const time = new FrozenClock(Date.now());
  return { upstream, time, pool: sessionsTo(upstream.port, options, time) };
}

async function frontOfFrames(script: FrameScript, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startFrameUpstream(script);
  const time = new FrozenClock(Date.now());
  return { upstream, time, pool: sessionsTo(upstream.port, options, time) };
}

/** Lets time pass for the pool until a limit has struck and the call is over. */
async function untilLate(time: FrozenClock, { sink }: ReturnType<typeof send>): Promise<CollectingSink> {
  let isOver = false;
  void sink.over.then(() => {
    isOver = true;
  });
  await waitFor('a limit strikes', () => {
    time.advance(250);
    return isOver;
  });
  return sink;
}

const HTTP2 = { maxConnections: 16, maxStreams: 100, pingIntervalMs: 300_000, pingTimeoutMs: 10_000 };

function serve({ stream, headers }: H2Request): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200 });
  stream.end(headers[':path']);
}

/** Serves no request before so many are there. */
function serveFrom(count: number): (request: H2Request) => void {
  const waiting: H2Request[] = [];
  return request => {
    waiting.push(request);
    if (waiting.length >= count) for (const each of waiting.splice(0)) serve(each);
  };
}

const many = (count: number) => Array.from({ length: count }, (_, i) => ({ target: `/${i}` }));

describe('connections over HTTP/2', () => {
  test('carry many requests at once', async () => {
    const { upstream, pool } = await front(serveFrom(50));
    const sinks = await Promise.all(many(50).map(request => ask(pool, request)));
    expect(sinks.map(({ body }) => body)).toEqual(sinks.map((_, i) => `/${i}`));
    expect(upstream.sessions).toHaveLength(1);
    expect(pool.connections).toBe(1);
  });

  test('are as many as the upstream makes necessary', async () => {
    const { upstream, pool } = await front(serveFrom(20), {}, { settings: { maxConcurrentStreams: 2 } });
    const sinks = await Promise.all(many(20).map(request => ask(pool, request)));
    expect(sinks.map(({ events }) => events.at(-1))).toEqual(sinks.map(() => 'end'));
    expect(upstream.sessions).toHaveLength(10);
  });

  test('end after the last response when they are closed', async () => {
    const held: H2Request[] = [];
    const { pool } = await front(request => held.push(request));
    const slow = ask(pool);
    await waitFor('it is there', () => held.length === 1);
    const closed = pool.close();
    const late = ask(pool, { target: '/late' });
    await waitFor('both are there', () => held.length === 2);
    for (const request of held) serve(request);
    expect([(await slow).body, (await late).body]).toEqual(['/', '/late']);
    await closed;
    expect(pool.connections).toBe(0);
  });
});

describe('the connect over HTTP/2 fails', () => {
  test('where the upstream speaks something else', async () => {
    const server = createServer(socket => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect((await ask(sessionsTo(port))).failure).toMatchObject({ kind: 'connect' });
  });

  test('where the upstream does not listen', async () => {
    expect((await ask(sessionsTo(1))).failure).toMatchObject({
      kind: 'connect',
      cause: { code: 'ECONNREFUSED' },
    });
  });
});

describe('an upstream that falls silent', () => {
  test('before its response is a timeout, and its other streams go on', async () => {
    const { upstream, pool, time } = await front(
      request => request.headers[':path'] !== '/' && serve(request),
    );
    const silent = send(pool, { firstByteTimeoutMs: 300 });
    await waitFor('it is there', () => upstream.requests.length === 1);
    expect((await untilLate(time, silent)).events).toEqual(['fail timeout']);
    expect((await ask(pool, { target: '/next' })).body).toBe('/next');
    expect(pool.connections).toBe(1);
  });

  test('has all the time in the world where the request has no timeouts', async () => {
    const { upstream, pool, time } = await front(() => {});
    const times = { firstByteTimeoutMs: Number.POSITIVE_INFINITY, idleTimeoutMs: Number.POSITIVE_INFINITY };
    const { sink } = send(pool, times);
    await waitFor('it is there', () => upstream.requests.length === 1);
    time.advance(290_000);
    for (const request of upstream.requests) serve(request);
    await sink.over;
    expect(sink.events.at(-1)).toBe('end');
  });

  test('is asked at once when a request had no response in time', async () => {
    const { pool, upstream, time } = await frontOfFrames(
      { ping: () => {} },
      { http2: { ...HTTP2, pingTimeoutMs: 300 } },
    );
    const patient = send(pool);
    const hasty = send(pool, { firstByteTimeoutMs: 300 });
    await waitFor('a peer is there', () => upstream.peers.length === 1);
    await upstream.peers[0]?.next(TYPE.headers, 3);
    expect((await untilLate(time, hasty)).events).toEqual(['fail timeout']);
    expect((await untilLate(time, patient)).events).toEqual(['fail reset']);
    await waitFor('it is cut', () => upstream.peers[0]?.socket.destroyed === true);
  });
});

describe('the body of a request over HTTP/2', () => {
  const post = (body: HandBody, bodyLength: number | 'chunked') => ({ method: 'POST', body, bodyLength });

  test('waits while the window of the upstream is closed', async () => {
    const { pool, upstream } = await frontOfFrames({ settings: { 4: 1_000 } });
    const body = new HandBody();
    body.onStart = sink => {
      body.paused = !sink.chunk(Buffer.alloc(100_000));
    };
    const { call } = send(pool, post(body, 'chunked'));
    const sent = () =>
      upstream.peers[0]?.frames.reduce(
        (sum, { type, payload }) => sum + (type === TYPE.data ? payload.length : 0),
        0,
      );
    await waitFor('the window is full', () => sent() === 1_000);
    expect(body.paused).toBe(true);
    expect(await settled(() => sent() ?? 0)).toBe(1_000);
    upstream.peers[0]?.send(
      frame(TYPE.windowUpdate, 0, 1, uint32(200_000)),
      frame(TYPE.windowUpdate, 0, 0, uint32(200_000)),
    );
    await waitFor('it flows again', () => !body.paused);
    call.abort();
  });

  test('is sent no further when the response is complete', async () => {
    const { pool, upstream } = await frontOfFrames({
      stream: (peer, id) => peer.send(headers(id, { ':status': '413' }, FLAG.endStream)),
    });
    const body = new HandBody();
    const { sink } = send(pool, post(body, 1_000));
    await sink.over;
    expect(sink.events).toEqual(['whole 413']);
    expect(body.sink?.chunk(Buffer.from('abc'))).toBe(false);
    await upstream.peers[0]?.next(TYPE.rstStream, 1);
  });
});

test('a response waits while its reader is slow, and holds up no other', async () => {
  const { pool } = await front(({ stream, headers }) => {
    stream.respond({ ':status': 200 });
    stream.end(headers[':path'] === '/big' ? Buffer.alloc(2_000_000, 'a') : 'small');
  });
  const { sink, call } = send(pool, { target: '/big' });
  sink.wantsMore = false;
  await waitFor('it begins', () => sink.pieces.length === 1);
  expect(await settled(() => sink.pieces.length)).toBe(1);
  expect((await ask(pool)).body).toBe('small');
  sink.wantsMore = true;
  call.resume();
  await sink.over;
  expect(sink.body.length).toBe(2_000_000);
});
