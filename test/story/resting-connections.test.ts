import { describe, expect, test } from 'vitest';
import { NO_NAMES, type TimerClock } from '../../src/core/index.ts';
import type { ConnectionPool } from '../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';
import { CollectingSink } from '../support/collecting-sink.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { poolTo } from '../support/pool.ts';
import { head, withBody } from '../support/requests.ts';
import { clockOfTests } from '../support/test-clock.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { responseOk, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const POISON = `${OK}Content-Length: 8\r\n\r\npoisoned`;
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

/** Exchanges behind which an upstream may send what belongs to nobody: the request, and its response. */
const BODILESS: readonly (readonly [string, string, string])[] = [
  ['HEAD with a length', head('HEAD /late'), `${OK}Content-Length: 46\r\n\r\n`],
  ['HEAD in chunks', head('HEAD /late'), `${OK}Transfer-Encoding: chunked\r\n\r\n`],
  ['HEAD without framing', head('HEAD /late'), `${OK}\r\n`],
  ['HEAD that is not found', head('HEAD /late'), 'HTTP/1.1 404 Not Found\r\nContent-Length: 46\r\n\r\n'],
  ['204', head('GET /late'), NO_CONTENT],
  ['204 of a POST', withBody('POST /late', 'hello'), NO_CONTENT],
  ['304', head('GET /late'), 'HTTP/1.1 304 Not Modified\r\nContent-Length: 46\r\n\r\n'],
  ['304 without framing', head('GET /late'), 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'],
  ['205', head('GET /late'), 'HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n'],
  ['a length of 0', head('GET /late'), `${OK}Content-Length: 0\r\n\r\n`],
  ['no byte in chunks', head('GET /late'), `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  [
    'no byte in chunks, then trailers',
    head('GET /late'),
    `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n`,
  ],
  ['a 429 with a body', head('GET /late'), 'HTTP/1.1 429 Slow\r\nContent-Length: 5\r\n\r\nhello'],
  [
    '103 and 204',
    head('GET /late'),
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n`,
  ],
  [
    'a GET whose body the upstream takes for a request',
    withBody('GET /late', 'GET /smuggled HTTP/1.1\r\n\r\n'),
    `${OK}Content-Length: 2\r\n\r\nok`,
  ],
];

/** Answers `/late` with these bytes. */
function late(bytes: string): Script {
  return async exchange => {
    await exchange.received();
    if (exchange.request.target === '/late') await exchange.send(bytes);
    else await responseOk(exchange);
  };
}

/** Time passes. What has rested is released a turn after the timer that notices it. */
async function pass(clock: FrozenClock, ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise(setImmediate);
}

async function front(script: Script, api: ConfigPart = {}, clock: TimerClock = clockOfTests()) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, api, clock });
  return { upstream, gateway, client: await gateway.connect() };
}

describe('late bytes after a response without a body reach no client, and end their connection', () => {
  describe.each([10, 100])('%i ms late', lateMs => {
    test.each(BODILESS)('%s', async (_, request, response) => {
      const clock = new FrozenClock(Date.now());
      const { upstream, client } = await front(late(response), {}, clock);
      await client.ask(request);
      const [poisoned] = upstream.connections;
      await pass(clock, lateMs);
      expect((await client.ask(head('GET /next'))).body.toString()).toBe('ok');
      await poisoned?.write(POISON);
      await waitFor('it is gone', () => poisoned?.open === false);
      expect((await client.ask(head('GET /next'))).body.toString()).toBe('ok');
      expect(poisoned?.requests).toHaveLength(1);
    });
  });

  test('even where the gateway was too busy to read them in time', async () => {
    const upstream = await startUpstream(exchange => exchange.send(NO_CONTENT));
    const pool = poolTo(upstream.port);
    await ask(pool);
    upstream.script = responseOk;
    // The system takes the bytes at once; this process, being busy, does not read them.
    void upstream.connections[0]?.write(POISON);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    const responses = await Promise.all([ask(pool), sleep(0).then(() => ask(pool))]);
    expect(responses.map(({ body }) => body)).toEqual(['ok', 'ok']);
  });
});

describe('a connection that rests', () => {
  test('sets no timer once its pool is closed', async () => {
    const time = new FrozenClock();
    const upstream = await startUpstream(exchange => exchange.send(NO_CONTENT));
    let timers = 0;
    const after = (ms: number, run: () => void) => {
      timers++;
      return time.after(ms, run);
    };
    const { every, cancel, signalAfter } = time;
    const hands = { epochMs: () => time.epochMs(), monotonicMs: () => time.monotonicMs() };
    const pool = poolTo(upstream.port, {}, undefined, { ...hands, after, every, cancel, signalAfter });
    await ask(pool);
    time.advance(60);
    await ask(pool);
    await pool.close();
    const before = timers;
    await pass(time, 125);
    expect(timers).toBe(before);
  });

  test.each(BODILESS)('is used again later: %s', async (_, request, response) => {
    const clock = new FrozenClock(Date.now());
    const { upstream, client } = await front(late(response), {}, clock);
    await client.ask(request);
    await client.ask(head('GET /at-once'));
    expect(upstream.connections.map(({ requests }) => requests.length)).toEqual([1, 1]);
    await pass(clock, 1_000);
    await client.ask(head('GET /later'));
    expect(upstream.connections.map(({ requests }) => requests.length)).toEqual([2, 1]);
  });

  test('gives way where it would be one more than the upstream may have requests', async () => {
    const upstream = await startUpstream(exchange => exchange.send(NO_CONTENT));
    const clock = new FrozenClock();
    const pool = poolTo(upstream.port, { maxConnections: 3 }, undefined, clock);
    for (let i = 0; i < 20; i++) {
      expect((await ask(pool)).events).toEqual(['whole 204']);
      expect(pool.connections).toBeLessThanOrEqual(3);
    }
    await waitFor('those that gave way are gone', () => upstream.openConnections.length === 3);
    // Those that rested for longest are kept: they are of use first.
    expect(upstream.openConnections.map(({ id }) => id).slice(0, 2)).toEqual([0, 1]);
    await pass(clock, 1_000);
    await ask(pool);
    expect(upstream.connections).toHaveLength(20);
  });

  test('follows max_requests of the file', async () => {
    const { upstream, client } = await front(exchange => exchange.send(NO_CONTENT), { max_requests: 2 });
    for (let i = 0; i < 10; i++) expect((await client.ask(head('GET /a'))).status).toBe(204);
    expect(upstream.connections.length).toBeGreaterThan(2);
    await waitFor('two are left', () => upstream.openConnections.length === 2);
  });

  test('is let go of with the idle ones when the upstream was restarted', async () => {
    const { upstream, pool } = await pooled(async exchange => {
      if (exchange.request.target === '/stale') exchange.connection.reset();
      else if (exchange.request.target === '/rest') await exchange.send(NO_CONTENT);
      else await responseOk(exchange);
    });
    await Promise.all([ask(pool, { target: '/rest' }), ask(pool)]);
    expect((await ask(pool, { target: '/stale' })).failure?.onReusedConnection).toBe(true);
    await waitFor('all are gone', () => upstream.openConnections.length === 0);
  });

  test('is closed at once with its pool', async () => {
    const { upstream, pool } = await pooled(exchange => exchange.send(NO_CONTENT));
    await ask(pool);
    await pool.close();
    await waitFor('it is gone', () => upstream.openConnections.length === 0);
  });
});

async function pooled(script: Script) {
  const upstream = await startUpstream(script);
  return { upstream, pool: poolTo(upstream.port) };
}

async function ask(pool: ConnectionPool, request: Partial<OutgoingRequest> = {}): Promise<CollectingSink> {
  const sink = new CollectingSink();
  pool.send(
    {
      ...{ method: 'GET', target: '/', fields: ['Host', 'a.test'], bodyLength: 0, body: null },
      ...{
        neverIndexed: NO_NAMES,
        takesTrailers: false,
        statesZero: false,
        upgrade: 'none' as const,
        firstByteTimeoutMs: 10_000,
        idleTimeoutMs: 10_000,
        ...request,
      },
    },
    sink,
  );
  await sink.over;
  return sink;
}
