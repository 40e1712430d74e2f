import { once } from 'node:events';
import type { ServerOptions } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import type { CollectingSink } from '../support/collecting-sink.ts';
import { deafPort } from '../support/deaf-port.ts';
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
import { settled, sleep, waitFor } from '../support/wait.ts';
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

  test('are no more than configured: requests wait for a stream', async () => {
    const { upstream, pool } = await front(
      serveFrom(4),
      { http2: { ...HTTP2, maxConnections: 2 } },
      { settings: { maxConcurrentStreams: 2 } },
    );
    const sinks = await Promise.all(many(20).map(request => ask(pool, request)));
    expect(sinks.map(({ events }) => events.at(-1))).toEqual(sinks.map(() => 'end'));
    expect(upstream.sessions).toHaveLength(2);
  });

  test('are opened beside busy ones, and share the requests', async () => {
    const { upstream, pool } = await front(serveFrom(30), { http2: { ...HTTP2, maxStreams: 5 } });
    const first = many(10).map(request => ask(pool, request));
    await waitFor('two are open', () => pool.connections === 2);
    const later: Promise<unknown>[] = [];
    for (const request of many(20)) {
      later.push(ask(pool, request));
      await sleep(2);
    }
    await Promise.all([...first, ...later]);
    expect(upstream.sessions.length).toBeGreaterThan(2);
    expect(upstream.sessions.length).toBeLessThan(9);
  });

  test('that have no stream free in time fail the request', async () => {
    const { upstream, pool, time } = await front(
      () => {},
      { http2: { ...HTTP2, maxConnections: 1 }, connectTimeoutMs: 300 },
      { settings: { maxConcurrentStreams: 1 } },
    );
    const first = send(pool);
    await waitFor('it is there', () => upstream.requests.length === 1);
    expect((await untilLate(time, send(pool))).failure).toMatchObject({
      kind: 'connect',
      cause: { message: 'no stream was free in time' },
    });
    first.call.abort();
  });

  test('free the stream of a request that is given up', async () => {
    const { upstream, pool } = await front(
      request => request.headers[':path'] === '/next' && serve(request),
      { http2: { ...HTTP2, maxConnections: 1 } },
      { settings: { maxConcurrentStreams: 1 } },
    );
    const { sink, call } = send(pool);
    await waitFor('it is there', () => upstream.requests.length === 1);
    const next = ask(pool, { target: '/next' });
    const queued = send(pool);
    queued.call.abort();
    call.abort();
    expect((await next).events.at(-1)).toBe('end');
    expect([...sink.events, ...queued.sink.events]).toEqual([]);
    expect(upstream.requests[0]?.stream.rstCode).toBe(8);
  });

  test('close when they were idle for keep_alive', async () => {
    const { upstream, pool, time } = await front(undefined, { keepAliveMs: 1_000 });
    await ask(pool);
    time.advance(1_000);
    expect(pool.connections).toBe(1);
    time.advance(500);
    await waitFor('it is closed', () => pool.connections === 0 && upstream.sessions[0]?.closed === true);
    await ask(pool);
    expect(upstream.sessions).toHaveLength(2);
  });

  test('take no further request at their age, and finish what they carry', async () => {
    const held: H2Request[] = [];
    const { upstream, pool, time } = await front(
      request => (request.headers[':path'] === '/slow' ? held.push(request) : serve(request)),
      { maxAgeMs: 1_000 },
    );
    const slow = ask(pool, { target: '/slow' });
    await waitFor('it is there', () => held.length === 1);
    time.advance(500);
    await ask(pool);
    expect(upstream.sessions).toHaveLength(1);
    time.advance(1_000);
    await ask(pool);
    expect(upstream.sessions).toHaveLength(2);
    for (const request of held) serve(request);
    expect((await slow).body).toBe('/slow');
    await waitFor('the old one is gone', () => upstream.sessions[0]?.closed === true);
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

  test('that the upstream shuts down carry what they have, and nothing new', async () => {
    const held: H2Request[] = [];
    const { upstream, pool } = await front(request =>
      request.headers[':path'] === '/slow' ? held.push(request) : serve(request),
    );
    const slow = ask(pool, { target: '/slow' });
    await waitFor('it is there', () => held.length === 1);
    upstream.sessions[0]?.goaway(0, 1);
    // What comes behind the GOAWAY is answered, so it has been read.
    await new Promise<void>(resolve => upstream.sessions[0]?.ping(() => resolve()));
    await ask(pool);
    expect(upstream.sessions).toHaveLength(2);
    for (const request of held) serve(request);
    expect((await slow).body).toBe('/slow');
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

  test('where the upstream says nothing in time', async () => {
    const deaf = new FrozenClock(Date.now());
    const pool = sessionsTo(await deafPort(), { connectTimeoutMs: 300 }, deaf);
    expect((await untilLate(deaf, send(pool))).failure).toMatchObject({
      kind: 'connect',
      cause: { message: 'the connect timed out' },
    });
    const silent = await frontOfFrames({ settings: null }, { connectTimeoutMs: 300 });
    expect((await untilLate(silent.time, send(silent.pool))).failure).toMatchObject({ kind: 'connect' });
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

  test('inside its response is truncated', async () => {
    const { pool, time } = await front(({ stream }) => {
      stream.respond({ ':status': 200 });
      stream.write('ok');
    });
    const half = send(pool, { idleTimeoutMs: 300 });
    await waitFor('it has begun', () => half.sink.body === 'ok');
    expect((await untilLate(time, half)).events).toEqual(['head 200 null', 'fail truncated']);
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

  test('is lost when it leaves a PING without an acknowledgement', async () => {
    const { upstream, pool, time } = await frontOfFrames(
      { ping: () => {} },
      { http2: { ...HTTP2, pingIntervalMs: 300, pingTimeoutMs: 300 } },
    );
    const waiting = send(pool);
    await waitFor('a peer is there', () => upstream.peers.length === 1);
    await upstream.peers[0]?.next(TYPE.headers);
    expect((await untilLate(time, waiting)).failure).toMatchObject({
      kind: 'reset',
      onReusedConnection: false,
      cause: { message: 'the upstream does not answer a PING' },
    });
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

  test('keeps its connection when it acknowledges PINGs', async () => {
    const { pool, upstream, time } = await frontOfFrames(
      {},
      { http2: { ...HTTP2, pingIntervalMs: 1_000, pingTimeoutMs: 60_000 } },
    );
    const { sink } = send(pool, { firstByteTimeoutMs: Number.POSITIVE_INFINITY });
    await waitFor('a peer is there', () => upstream.peers.length === 1);
    const [peer] = upstream.peers;
    await peer?.next(TYPE.headers);
    const pings = () => peer?.frames.filter(({ type }) => type === TYPE.ping).length ?? 0;
    // No PING follows one that is not acknowledged: more of them prove that each was.
    await waitFor('three PINGs', () => {
      time.advance(250);
      return pings() >= 3;
    });
    peer?.send(headers(1, { ':status': '200' }, FLAG.endStream));
    await sink.over;
    expect(sink.events).toEqual(['whole 200']);
    expect(upstream.peers).toHaveLength(1);
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

  test('counts as movement, and what the upstream does not take as silence', async () => {
    const full = await frontOfFrames({ settings: { 4: 1_000 } });
    const body = new HandBody();
    body.onStart = sink => void sink.chunk(Buffer.alloc(100_000));
    const stuck = send(full.pool, { ...post(body, 'chunked'), firstByteTimeoutMs: 400 });
    await waitFor('a peer is there', () => full.upstream.peers.length === 1);
    await full.upstream.peers[0]?.next(TYPE.data);
    expect((await untilLate(full.time, stuck)).events).toEqual(['fail timeout']);
    const trickle = new HandBody();
    let come = 0;
    const { pool, time } = await front(request => {
      const { stream } = request;
      stream.on('data', (piece: Buffer) => {
        come += piece.length;
      });
      stream.on('end', () => serve(request));
    });
    const { sink } = send(pool, { ...post(trickle, 'chunked'), firstByteTimeoutMs: 300 });
    await waitFor('it is asked for', () => trickle.started);
    for (let sent = 1; sent <= 10; sent++) {
      trickle.sink?.chunk(Buffer.from('a'));
      await waitFor('it has come', () => come === sent);
      time.advance(250);
    }
    trickle.sink?.end();
    await sink.over;
    expect(sink.events.at(-1)).toBe('end');
  });

  test.each([
    ['ends early', (body: HandBody) => body.sink?.end()],
    ['breaks off', (body: HandBody) => body.sink?.fail()],
    ['is longer than stated', (body: HandBody) => body.sink?.chunk(Buffer.alloc(10))],
  ])('that %s is reset', async (_, act) => {
    const { pool, upstream } = await frontOfFrames({});
    const body = new HandBody();
    const { sink } = send(pool, post(body, 5));
    await waitFor('it is asked for', () => body.started);
    body.sink?.chunk(Buffer.from('abc'));
    await waitFor(
      'the beginning is there',
      () => upstream.peers[0]?.frames.some(({ type }) => type === TYPE.data) === true,
    );
    act(body);
    await sink.over;
    expect(sink.events).toEqual(['fail reset']);
    expect((await upstream.peers[0]?.next(TYPE.rstStream, 1))?.payload.readUInt32BE()).toBe(8);
    expect(
      upstream.peers[0]?.frames.some(({ type, flags }) => type === TYPE.data && flags === FLAG.endStream),
    ).toBe(false);
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
