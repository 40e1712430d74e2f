import { describe, expect, test } from 'vitest';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import {
  block,
  data,
  FLAG,
  type FramePeer,
  type FrameScript,
  frame,
  headers,
  startFrameUpstream,
  TYPE,
  uint32,
} from '../support/frame-upstream.ts';
import { sessionsTo } from '../support/sessions.ts';
import { ask, send } from '../support/transport-calls.ts';
import { waitFor } from '../support/wait.ts';

async function front(script: FrameScript, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startFrameUpstream(script);
  return { upstream, pool: sessionsTo(upstream.port, options) };
}

/** The response to a GET, or another method, that consists of these frames. */
async function responseOf(frames: (stream: number) => Buffer[], method = 'GET') {
  const { pool } = await front({ stream: (peer, stream) => peer.send(...frames(stream)) });
  return await ask(pool, { method });
}

const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
const REFUSED_STREAM = 7;

describe('a response over HTTP/2', () => {
  test('that is valid is passed on', async () => {
    const sink = await responseOf(id => [
      headers(id, { ':status': '103', link: '</a>' }),
      headers(id, { ':status': '200', 'x-one': '1' }),
      data(id, 'hel'),
      data(id, 'lo', FLAG.none),
      headers(id, { 'x-sum': '5' }, FLAG.endStream),
    ]);
    expect(sink.events).toEqual(['info 103', 'head 200 null', 'end']);
    expect(sink).toMatchObject({ body: 'hello', fields: ['x-one', '1'], trailers: ['x-sum', '5'] });
  });

  test.each<[string, (id: number) => Buffer[]]>([
    [
      'has a Transfer-Encoding',
      id => [headers(id, { ':status': '200', 'transfer-encoding': 'chunked' }, FLAG.endStream)],
    ],
    [
      'has a head that is too large',
      id => [
        headers(id, { ':status': '200', 'x-one': '1'.repeat(8_192), 'x-two': '2'.repeat(10) }, FLAG.none),
        data(id, 'ok', FLAG.endStream),
      ],
    ],
    [
      'has too many fields',
      id => [
        headers(
          id,
          [[':status', '200'], ...Array.from({ length: 501 }, () => ['a', 'b'] as const)],
          FLAG.endStream,
        ),
      ],
    ],
    [
      'is preceded by too many interim ones',
      id => [
        ...Array.from({ length: 17 }, () => headers(id, { ':status': '103' })),
        headers(id, { ':status': '200' }, FLAG.endStream),
      ],
    ],
  ])('that %s is malformed', async (_, frames) => {
    const { pool } = await front({ stream: (peer, id) => peer.send(...frames(id)) }, { maxHeadBytes: 8_192 });
    const sink = await ask(pool);
    expect(sink.events.at(-1)).toBe('fail malformed');
    expect(sink.failure).toMatchObject({ onReusedConnection: false });
  });

  test.each<[string, (id: number) => Buffer[], string]>([
    [
      'more than its length',
      id => [
        headers(id, { ':status': '200', 'content-length': '5' }),
        data(id, 'hello'),
        data(id, 'HTTP/1.1 200 OK', FLAG.endStream),
      ],
      'hello',
    ],
    [
      'a reset without error in the middle',
      id => [
        headers(id, { ':status': '200' }),
        data(id, 'hello'),
        frame(TYPE.rstStream, 0, id, uint32(NO_ERROR)),
      ],
      'hello',
    ],
  ])('with %s is truncated', async (_, frames, body) => {
    const sink = await responseOf(frames);
    expect(sink.events.at(-1)).toBe('fail truncated');
    expect(sink.body).toBe(body);
  });
});

describe('a request over HTTP/2 is safe to repeat', () => {
  test('where its stream was refused', async () => {
    const { pool } = await front({
      stream: (peer, id) => peer.send(frame(TYPE.rstStream, 0, id, uint32(REFUSED_STREAM))),
    });
    expect((await ask(pool, { method: 'POST' })).failure).toMatchObject({
      kind: 'refused',
      responseBegun: false,
    });
  });

  test.each([
    ['shuts down', NO_ERROR],
    ['is at its end', INTERNAL_ERROR],
  ])(
    'where the upstream %s before it looked at the stream, but not the one it goes on with',
    async (_, code) => {
      const peers: FramePeer[] = [];
      const { pool } = await front({
        stream: (peer, id) => {
          peers.push(peer);
          if (id === 5) peer.send(frame(TYPE.goaway, 0, 0, uint32(1, code)));
        },
      });
      const sinks = [send(pool), send(pool), send(pool)].map(({ sink }) => sink);
      await sinks[2]?.over;
      await sinks[1]?.over;
      expect(sinks.slice(1).map(({ failure }) => failure?.kind)).toEqual(['refused', 'refused']);
      expect(sinks[0]?.events).toEqual([]);
      peers[0]?.send(headers(1, { ':status': '200' }, FLAG.endStream));
      await sinks[0]?.over;
      expect(sinks[0]?.events).toEqual(['whole 200']);
    },
  );

  test('nowhere else: a reset stream may have been served', async () => {
    const { pool } = await front({
      stream: (peer, id) => {
        if (id === 1) peer.send(headers(id, { ':status': '200' }, FLAG.endStream));
        else peer.send(frame(TYPE.rstStream, 0, id, uint32(INTERNAL_ERROR)));
      },
    });
    await ask(pool);
    expect((await ask(pool)).failure).toMatchObject({ kind: 'reset', onReusedConnection: false });
  });

  test('perhaps where the connection broke that had served others', async () => {
    const { pool } = await front({
      stream: (peer, id) => {
        if (id === 1) peer.send(headers(id, { ':status': '200' }, FLAG.endStream));
        else peer.socket.resetAndDestroy();
      },
    });
    await ask(pool);
    expect((await ask(pool)).failure).toMatchObject({ kind: 'reset', onReusedConnection: true });
    expect((await ask(sessionsTo(1))).failure).toMatchObject({ kind: 'connect' });
  });
});

describe('an upstream that floods a connection', () => {
  /** Sends frames until the connection is gone or very many were sent. Every call gets its failure, and the next is served. */
  async function flood(frames: (stream: number) => Buffer, before: (stream: number) => Buffer[] = () => []) {
    let calls = 0;
    const { pool, upstream } = await front({
      stream: async (peer, id) => {
        if (++calls > 1) return peer.send(headers(id, { ':status': '200' }, FLAG.endStream));
        peer.send(...before(id));
        const many = frames(id);
        for (let sent = 0; peer.socket.writable && sent < 30_000_000; sent += many.length) {
          if (!peer.socket.write(many))
            await Promise.race([
              new Promise(resolve => peer.socket.once('drain', resolve)),
              new Promise(resolve => peer.socket.once('close', resolve)),
            ]);
        }
      },
    });
    const heapBefore = process.memoryUsage().rss;
    const sink = await ask(pool, { firstByteTimeoutMs: 5_000, idleTimeoutMs: 5_000 });
    expect(sink.failure).not.toBeNull();
    expect(process.memoryUsage().rss - heapBefore).toBeLessThan(150_000_000);
    await waitFor('the connection is dropped', () => upstream.peers[0]?.socket.destroyed === true);
    expect((await ask(pool)).events).toEqual(['whole 200']);
  }

  const times = (count: number, make: (i: number) => Buffer) =>
    Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));

  test('with SETTINGS loses it', async () => {
    await flood(() => times(100, () => frame(TYPE.settings, 0, 0)));
  });

  test('with CONTINUATION loses it', async () => {
    await flood(
      id => times(10, () => frame(TYPE.continuation, 0, id, block({ 'x-one': '1' }))),
      id => [frame(TYPE.headers, 0, id, block({ ':status': '200' }))],
    );
  });

  test('with more than its window, which a slow reader does not open, loses the stream', async () => {
    const { pool } = await front({
      stream: (peer, id) => {
        peer.send(headers(id, { ':status': '200' }));
        for (let i = 0; i < 20; i++) peer.send(data(id, Buffer.alloc(16_384)));
      },
    });
    const { sink } = send(pool);
    sink.wantsMore = false;
    await sink.over;
    expect(sink.events).toEqual(['head 200 null', 'fail truncated']);
  });
});
