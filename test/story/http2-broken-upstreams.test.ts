import { describe, expect, test } from 'vitest';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import {
  block,
  data,
  FLAG,
  type FrameScript,
  frame,
  headers,
  startFrameUpstream,
  TYPE,
} from '../support/frame-upstream.ts';
import { sessionsTo } from '../support/sessions.ts';
import { ask, send } from '../support/transport-calls.ts';
import { waitFor } from '../support/wait.ts';

async function front(script: FrameScript, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startFrameUpstream(script);
  return { upstream, pool: sessionsTo(upstream.port, options) };
}

describe('a response over HTTP/2', () => {
  test('that has a head that is too large, or too many fields, is malformed', async () => {
    const large = { ':status': '200', 'x-one': '1'.repeat(8_192), 'x-two': '2'.repeat(10) };
    const many = [[':status', '200'], ...Array.from({ length: 501 }, () => ['a', 'b'])] as [string, string][];
    for (const [fields, maxHeadBytes] of [
      [large, 8_192],
      [many, 32_768],
    ] as const) {
      const { pool } = await front(
        { stream: (peer, id) => peer.send(headers(id, fields, FLAG.endStream)) },
        { maxHeadBytes },
      );
      const sink = await ask(pool);
      expect(sink.events).toEqual(['fail malformed']);
      expect(sink.failure).toMatchObject({ onReusedConnection: false });
    }
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
