import { describe, expect, test } from 'vitest';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { sessionsTo } from '../support/sessions.ts';
import { ask } from '../support/transport-calls.ts';

async function front(answer?: (request: H2Request) => unknown, options: Partial<UpstreamOptions> = {}) {
  const upstream = await startH2Upstream(answer);
  return { upstream, pool: sessionsTo(upstream.port, options) };
}

describe('a connection over HTTP/2', () => {
  test('carries many requests at once', async () => {
    const waiting: H2Request[] = [];
    const { upstream, pool } = await front(request => {
      waiting.push(request);
      if (waiting.length < 50) return;
      for (const { stream, headers } of waiting) {
        stream.respond({ ':status': 200 });
        stream.end(headers[':path']);
      }
    });
    const sinks = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(pool, { target: `/${i}` })));
    expect(sinks.map(({ body }) => body)).toEqual(sinks.map((_, i) => `/${i}`));
    expect(upstream.sessions).toHaveLength(1);
    expect(pool.connections).toBe(1);
  });
});
