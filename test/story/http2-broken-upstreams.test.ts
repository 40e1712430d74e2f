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
import { sleep, waitFor } from '../support/wait.ts';

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

  test('that consists of its head alone keeps every field of it', async () => {
    const sink = await responseOf(id => [
      headers(id, { ':status': '200', 'grpc-status': '12', 'grpc-message': 'no' }, FLAG.endStream),
    ]);
    expect(sink.events).toEqual(['whole 200']);
    expect(sink.fields).toEqual(['grpc-status', '12', 'grpc-message', 'no', 'content-length', '0']);
  });

  test.each([
    ['HEAD', '200'],
    ['GET', '204'],
    ['GET', '304'],
  ])('to %s with %s and an empty DATA frame has no body', async (method, status) => {
    const sink = await responseOf(
      id => [headers(id, { ':status': status }), data(id, '', FLAG.endStream)],
      method,
    );
    expect(sink).toMatchObject({ events: [`whole ${status}`], body: '', fields: [] });
  });

  test('to HEAD may state the length that GET would have had', async () => {
    const sink = await responseOf(
      id => [headers(id, { ':status': '200', 'content-length': '7' }, FLAG.endStream)],
      'HEAD',
    );
    expect(sink).toMatchObject({ events: ['whole 200'], fields: ['content-length', '7'] });
  });

  test('is complete though the rest of the request is not wanted', async () => {
    const sink = await responseOf(id => [
      headers(id, { ':status': '200' }),
      data(id, 'ok', FLAG.endStream),
      frame(TYPE.rstStream, 0, id, uint32(NO_ERROR)),
    ]);
    expect(sink).toMatchObject({ events: ['head 200 null', 'end'], body: 'ok' });
  });

  test.each<[string, (id: number) => Buffer[]]>([
    ['has no status', id => [headers(id, { 'x-one': '1' }, FLAG.endStream)]],
    ['has a status of two digits', id => [headers(id, { ':status': '20' }, FLAG.endStream)]],
    ['has a status that is no number', id => [headers(id, { ':status': '2xx' }, FLAG.endStream)]],
    ['has a status below 100', id => [headers(id, { ':status': '099' }, FLAG.endStream)]],
    ['has an interim status at its end', id => [headers(id, { ':status': '103' }, FLAG.endStream)]],
    [
      'agrees to an upgrade',
      id => [headers(id, { ':status': '101' }), headers(id, { ':status': '200' }, FLAG.endStream)],
    ],
    ['has another pseudo-field', id => [headers(id, { ':status': '200', ':path': '/' }, FLAG.endStream)]],
    [
      'has a pseudo-field behind fields',
      id => [headers(id, { 'x-one': '1', ':status': '200' }, FLAG.endStream)],
    ],
    [
      'has two statuses',
      id => [
        headers(
          id,
          [
            [':status', '200'],
            [':status', '200'],
          ],
          FLAG.endStream,
        ),
      ],
    ],
    [
      'has a Connection field',
      id => [headers(id, { ':status': '200', connection: 'close' }, FLAG.endStream)],
    ],
    [
      'has a Transfer-Encoding',
      id => [headers(id, { ':status': '200', 'transfer-encoding': 'chunked' }, FLAG.endStream)],
    ],
    [
      'states two lengths',
      id => [
        headers(id, [
          [':status', '200'],
          ['content-length', '2'],
          ['content-length', '2'],
        ]),
        data(id, 'ok', FLAG.endStream),
      ],
    ],
    [
      'states its length with a zero in front',
      id => [headers(id, { ':status': '200', 'content-length': '02' }), data(id, 'ok', FLAG.endStream)],
    ],
    [
      'states a length below zero',
      id => [headers(id, { ':status': '200', 'content-length': '-2' }), data(id, 'ok', FLAG.endStream)],
    ],
    [
      'states a length and ends with its head',
      id => [headers(id, { ':status': '200', 'content-length': '2' }, FLAG.endStream)],
    ],
    ['begins with a body', id => [data(id, 'ok', FLAG.endStream)]],
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
    [
      'has a body where HEAD allows none',
      id => [headers(id, { ':status': '204' }), data(id, 'body', FLAG.endStream)],
    ],
    [
      'has a body though it says that it is empty',
      id => [headers(id, { ':status': '200', 'content-length': '0' }), data(id, 'body', FLAG.endStream)],
    ],
  ])('that %s is malformed', async (_, frames) => {
    const { pool } = await front({ stream: (peer, id) => peer.send(...frames(id)) }, { maxHeadBytes: 8_192 });
    const sink = await ask(pool);
    expect(sink.events.at(-1)).toBe('fail malformed');
    expect(sink.failure).toMatchObject({ onReusedConnection: false });
  });

  test('of a field value with a line break has no such field', async () => {
    const sink = await responseOf(id => [
      headers(
        id,
        { ':status': '200', 'x-one': 'a\r\nset-cookie: b', 'x-two': 'c\0d', 'x-three': '3' },
        FLAG.endStream,
      ),
    ]);
    expect(sink.fields).toEqual(['x-three', '3', 'content-length', '0']);
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
      'less than its length',
      id => [headers(id, { ':status': '200', 'content-length': '9' }), data(id, 'hello', FLAG.endStream)],
      'hello',
    ],
    [
      'a reset in the middle',
      id => [
        headers(id, { ':status': '200' }),
        data(id, 'hello'),
        frame(TYPE.rstStream, 0, id, uint32(INTERNAL_ERROR)),
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
    [
      'a second head',
      id => [
        headers(id, { ':status': '200' }),
        data(id, 'hello'),
        headers(id, { ':status': '200' }, FLAG.endStream),
      ],
      'hello',
    ],
    [
      'trailers that do not end it',
      id => [headers(id, { ':status': '200' }), data(id, 'hello'), headers(id, { 'x-one': '1' })],
      'hello',
    ],
  ])('with %s is truncated', async (_, frames, body) => {
    const sink = await responseOf(frames);
    expect(sink.events.at(-1)).toBe('fail truncated');
    expect(sink.body).toBe(body);
  });

  test('reset without error while its reader is slow is truncated', async () => {
    const { pool, upstream } = await front({
      stream: (peer, id) => peer.send(headers(id, { ':status': '200' }), data(id, 'hello')),
    });
    const { sink, call } = send(pool);
    sink.wantsMore = false;
    await waitFor('the body is there', () => sink.body === 'hello');
    upstream.peers[0]?.send(data(1, 'more'), frame(TYPE.rstStream, 0, 1, uint32(NO_ERROR)));
    await sleep(50);
    sink.wantsMore = true;
    call.resume();
    await sink.over;
    expect(sink.events.at(-1)).toBe('fail truncated');
  });

  test('that has ended is whole though its reader is slow and the stream is closed', async () => {
    const { pool, upstream } = await front({
      stream: (peer, id) => peer.send(headers(id, { ':status': '200' }), data(id, 'hello')),
    });
    const { sink, call } = send(pool);
    sink.wantsMore = false;
    await waitFor('the body is there', () => sink.body === 'hello');
    upstream.peers[0]?.send(data(1, 'more', FLAG.endStream), frame(TYPE.rstStream, 0, 1, uint32(NO_ERROR)));
    await sleep(50);
    sink.wantsMore = true;
    call.resume();
    await sink.over;
    expect(sink).toMatchObject({ events: ['head 200 null', 'end'], body: 'hellomore' });
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

  test('with a SETTINGS frame of too many entries loses it', async () => {
    await flood(() =>
      frame(
        TYPE.settings,
        0,
        0,
        times(100, () => Buffer.from([0, 0x77, 0, 0, 0, 1])),
      ),
    );
  });

  test('with PING loses it', async () => {
    await flood(() => times(100, () => frame(TYPE.ping, 0, 0, Buffer.alloc(8))));
  });

  test('with CONTINUATION loses it', async () => {
    await flood(
      id => times(10, () => frame(TYPE.continuation, 0, id, block({ 'x-one': '1' }))),
      id => [frame(TYPE.headers, 0, id, block({ ':status': '200' }))],
    );
  });

  test('with resets of streams that are not open loses it', async () => {
    await flood(() => times(100, i => frame(TYPE.rstStream, 0, 2 * i + 2, uint32(0))));
  });

  test('with empty DATA loses it', async () => {
    await flood(
      id => times(100, () => data(id, '')),
      id => [headers(id, { ':status': '200' })],
    );
  });

  test('with windows that overflow loses it', async () => {
    await flood(() => times(4, () => frame(TYPE.windowUpdate, 0, 0, uint32(0x7fffffff))));
  });

  test('with pushed streams loses it', async () => {
    await flood(id =>
      frame(TYPE.pushPromise, FLAG.endHeaders, id, Buffer.concat([uint32(2), block({ ':method': 'GET' })])),
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
