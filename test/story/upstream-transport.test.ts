import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { NO_NAMES, type TimerClock, thisMachine } from '../../src/core/index.ts';
import { connectorFor } from '../../src/upstream/connect.ts';
import type { ConnectionPool, TransportCall, UpstreamOptions } from '../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';
import { CollectingSink } from '../support/collecting-sink.ts';
import { deafPort } from '../support/deaf-port.ts';
import { HandBody } from '../support/hand-body.ts';
import { poolTo } from '../support/pool.ts';
import { Random } from '../support/random.ts';
import { inTime } from '../support/test-clock.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { type CaptureUpstream, responseOk, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const SMALL = `${OK}Content-Length: 2\r\n\r\nok`;

async function front(
  script: Script = responseOk,
  options: Partial<UpstreamOptions> = {},
  clock?: TimerClock,
) {
  const upstream = await startUpstream(script);
  return { upstream, pool: poolTo(upstream.port, options, undefined, clock) };
}

const GET: OutgoingRequest = {
  ...{ method: 'GET', target: '/', fields: ['Host', 'a.test'], bodyLength: 0, body: null },
  ...{
    neverIndexed: NO_NAMES,
    takesTrailers: false,
    statesZero: false,
    upgrade: 'none' as const,
    firstByteTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
  },
};

function send(pool: ConnectionPool, request: Partial<OutgoingRequest> = {}) {
  const sink = new CollectingSink();
  const call: TransportCall = pool.send({ ...GET, ...request }, sink);
  return { sink, call };
}

async function ask(pool: ConnectionPool, request: Partial<OutgoingRequest> = {}): Promise<CollectingSink> {
  const { sink } = send(pool, request);
  await sink.over;
  return sink;
}

/** Another request gets its own response. */
async function expectServed(pool: ConnectionPool): Promise<void> {
  expect(await ask(pool, { target: '/next' })).toMatchObject({ events: ['whole 200'], body: 'ok' });
}

/** Answers what is not `/next` with these bytes, in pieces that the system does not join. */
function pieces(...bytes: (string | Buffer)[]): Script {
  return async exchange => {
    if (exchange.request.target === '/next') return await responseOk(exchange);
    for (const [i, piece] of bytes.entries()) {
      if (i > 0) await sleep(5);
      await exchange.send(piece);
    }
  };
}

describe('a connection is used again', () => {
  test.each([
    ['a body by length', SMALL],
    ['a body in chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ['a body with trailers', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n`],
    ['interim responses', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n${SMALL}`],
  ])('behind %s, in one piece or many', async (_, bytes) => {
    for (const script of [pieces(bytes), pieces(bytes.slice(0, 20), bytes.slice(20, -1), bytes.slice(-1))]) {
      const { upstream, pool } = await front(script);
      expect((await ask(pool)).failure).toBeNull();
      await expectServed(pool);
      expect(upstream.connections).toHaveLength(1);
    }
  });

  test('last in, first out', async () => {
    const { upstream, pool } = await front(async exchange => {
      await waitFor('all are there', () => upstream.requests.length >= 3);
      await responseOk(exchange);
    });
    await Promise.all([ask(pool), ask(pool), ask(pool)]);
    const last = upstream.requests.length;
    for (let i = 0; i < 3; i++) await expectServed(pool);
    expect(new Set(upstream.requests.slice(last).map(request => request.connection.id)).size).toBe(1);
    expect(pool.connections).toBe(3);
  });

  test('by one call at a time, so that there are never more connections than calls', async () => {
    const { upstream, pool } = await front(async exchange => {
      await sleep(1);
      await responseOk(exchange);
    });
    for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 5 }, () => ask(pool)));
    expect(upstream.requests).toHaveLength(100);
    expect(upstream.connections.length).toBeLessThanOrEqual(5);
  });
});

describe('a connection is not used again', () => {
  test.each([
    [
      'a 204 that announced a body, which may come',
      'GET',
      'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n',
    ],
    ['a response that says close', 'GET', `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`],
    ['an interim response that says close', 'GET', `HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n${SMALL}`],
    ['a response in HTTP/1.0', 'GET', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    [
      'a response that is kept for no time',
      'GET',
      `${OK}Keep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok`,
    ],
    ['bytes behind a length', 'GET', `${SMALL}${SMALL}`],
    ['bytes behind the response to a HEAD', 'HEAD', SMALL],
    ['bytes behind chunks', 'GET', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nX`],
  ])('behind %s', async (_, method, bytes) => {
    const { upstream, pool } = await front(pieces(bytes));
    expect((await ask(pool, { method })).failure).toBeNull();
    await expectServed(pool);
    expect(upstream.connections).toHaveLength(2);
  });

  test('with bytes that came while it was idle', async () => {
    const { upstream, pool } = await front();
    for (let round = 0; round < 20; round++) {
      await expectServed(pool);
      await upstream.connections.at(-1)?.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned');
      await waitFor('it is gone', () => pool.connections === 0);
    }
    expect(upstream.connections).toHaveLength(20);
  });

  test('when the upstream has closed it while it was idle', async () => {
    const { upstream, pool } = await front();
    await expectServed(pool);
    upstream.connections[0]?.end();
    await waitFor('it is gone', () => pool.connections === 0);
    await expectServed(pool);
  });

  test('if a response arrived before the end of its request, and the rest of the request is dropped', async () => {
    const { upstream, pool } = await front(async exchange => {
      if (exchange.request.target === '/next') return await responseOk(exchange);
      await waitFor('a part is there', () => exchange.request.bodyBytes > 0);
      await exchange.send(SMALL);
    });
    const body = new HandBody();
    const { sink } = send(pool, { method: 'POST', bodyLength: 100, body });
    await waitFor('it is asked for', () => body.started);
    body.sink?.chunk(Buffer.from('GET /smuggled'));
    await sink.over;
    expect(sink.events).toEqual(['whole 200']);
    expect(body.sink?.chunk(Buffer.from(' HTTP/1.1\r\n\r\n'))).toBe(false);
    body.sink?.end();
    await expectServed(pool);
    expect(upstream.connections).toHaveLength(2);
    await waitFor('the first is gone', () => upstream.openConnections.length === 1);
    expect(upstream.requests[0]?.body.toString()).toBe('GET /smuggled');
  });

  test('if a response arrived while the end of its request was in our buffers', async () => {
    const { upstream, pool } = await front(async exchange => {
      if (exchange.request.target === '/next') return await responseOk(exchange);
      exchange.connection.pause();
      await exchange.send(SMALL);
    });
    const body = new HandBody();
    body.onStart = sink => {
      sink.chunk(Buffer.alloc(30_000_000));
      sink.end();
    };
    await ask(pool, { method: 'POST', bodyLength: 30_000_000, body });
    await expectServed(pool);
    expect(upstream.connections).toHaveLength(2);
  });

  test('when it is older than it may be', async () => {
    const time = new FrozenClock(Date.now());
    const { upstream, pool } = await front(responseOk, { maxAgeMs: 60_000 }, time);
    await expectServed(pool);
    time.advance(59_000);
    await expectServed(pool);
    expect(upstream.connections).toHaveLength(1);
    time.advance(2_000);
    await expectServed(pool);
    expect(upstream.connections).toHaveLength(2);
  });
});

describe('a response that breaks off', () => {
  const BODIES = [
    `${OK}Content-Length: 5\r\n\r\nhello`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  ];

  test.each(['end', 'reset'] as const)(
    'fails at every byte, and the next request is served (%s)',
    async how => {
      for (const bytes of BODIES) {
        for (let at = 0; at < bytes.length; at++) {
          const { pool } = await front(async exchange => {
            if (exchange.request.target === '/next') return await responseOk(exchange);
            await exchange.send(bytes.slice(0, at));
            // A reset takes along what was not read yet. In two turns, all that is there is read.
            if (how === 'reset') for (let turns = 0; turns < 2; turns++) await nextTurn();
            exchange.connection[how]();
          });
          const sink = await ask(pool);
          expect(sink.events.at(-1), `${at}`).toMatch(/^fail (reset|truncated)$/);
          expect(sink.events.includes('end')).toBe(false);
          expect(sink.failure?.responseBegun, `${at}`).toBe(at > 0);
          await expectServed(pool);
        }
      }
    },
    60_000,
  );

  test('is one that stops being a response', async () => {
    const { upstream, pool } = await front(pieces(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '5\r\nhello!'));
    expect(await ask(pool)).toMatchObject({ events: ['head 200 null', 'fail truncated'], body: 'hello' });
    await waitFor('the connection is gone', () => upstream.openConnections.length === 0);
  });

  test('is malformed as long as its head has not been passed on', async () => {
    const { pool } = await front(pieces(`${OK}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`));
    expect(await ask(pool)).toMatchObject({ events: ['fail malformed'], failure: { responseBegun: true } });
  });
});

describe('a call that is given up', () => {
  const BYTES = `HTTP/1.1 103 Early\r\n\r\n${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;

  test('at every byte of the response gets no further calls, and its connection is destroyed', async () => {
    for (let at = 0; at < BYTES.length; at++) {
      const { upstream, pool } = await front(async exchange => {
        if (exchange.request.target === '/next') return await responseOk(exchange);
        await exchange.send(BYTES.slice(0, at));
        await exchange.gone;
      });
      const { sink, call } = send(pool);
      await waitFor('the request is there', () => upstream.requests.length === 1);
      await sleep(1);
      const events = [...sink.events];
      call.abort();
      await waitFor('the connection is gone', () => upstream.openConnections.length === 0);
      expect(sink.events).toEqual(events);
      expect(pool.connections).toBe(0);
      await expectServed(pool);
      call.abort();
      call.resume();
      await expectServed(pool);
      expect(upstream.connections).toHaveLength(2);
    }
  });

  test('after its end does not affect the next call on its connection', async () => {
    const { upstream, pool } = await front(async exchange => {
      if (upstream.requests.length > 1) await sleep(50);
      await responseOk(exchange);
    });
    const first = send(pool);
    await first.sink.over;
    const second = send(pool);
    first.call.abort();
    first.call.resume();
    await second.sink.over;
    expect(second.sink.events).toEqual(['whole 200']);
    expect(upstream.connections).toHaveLength(1);
  });

  test('during the connect leaves nothing open', async () => {
    const { upstream, pool } = await front();
    send(pool).call.abort();
    await sleep(50);
    expect(upstream.requests).toEqual([]);
    expect(pool.connections).toBe(0);
  });

  test('while its sink has enough frees the connection', async () => {
    const { upstream, pool } = await front(exchange => exchange.answer(200, [], Buffer.alloc(10_000_000)));
    const sink = new CollectingSink();
    sink.wantsMore = false;
    const call = pool.send(GET, sink);
    await waitFor('the response flows', () => sink.events.length > 0);
    call.abort();
    await waitFor('the connection is gone', () => upstream.openConnections.length === 0);
    expect(pool.connections).toBe(0);
  });
});

describe('a failure', () => {
  test('of the connect is reported as such, with no byte sent', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    const body = new HandBody();
    const sink = await ask(poolTo(port), { method: 'POST', bodyLength: 5, body });
    expect(sink.failure).toMatchObject({ kind: 'connect', responseBegun: false, onReusedConnection: false });
    expect(body.started).toBe(false);
  });

  test('on a reused connection is reported as such, and the other idle ones are closed', async () => {
    const { upstream, pool } = await front(async exchange => {
      await waitFor('three are there', () => upstream.requests.length >= 3);
      if (exchange.request.target === '/stale') exchange.connection.reset();
      else await responseOk(exchange);
    });
    await Promise.all([ask(pool), ask(pool), ask(pool)]);
    const sink = await ask(pool, { target: '/stale' });
    expect(sink.failure).toMatchObject({ kind: 'reset', onReusedConnection: true, responseBegun: false });
    await waitFor('all are gone', () => upstream.openConnections.length === 0);
    expect((await ask(pool, { target: '/stale' })).failure).toMatchObject({
      kind: 'reset',
      onReusedConnection: false,
    });
  });

  test('of the body breaks the request off: the upstream does not take the part for the whole', async () => {
    for (const bodyLength of [10, 'chunked'] as const) {
      const { upstream, pool } = await front();
      const body = new HandBody();
      const { sink } = send(pool, { method: 'POST', bodyLength, body });
      await waitFor('it is asked for', () => body.started);
      body.sink?.chunk(Buffer.from('hello'));
      await waitFor('a part is there', () => upstream.requests[0]?.bodyBytes === 5);
      body.sink?.fail();
      await sink.over;
      expect(sink.failure?.kind).toBe('reset');
      await waitFor('the connection is gone', () => upstream.openConnections.length === 0);
      expect(upstream.onlyRequest.complete).toBe(false);
    }
  });

  test.each([
    ['shorter', 4],
    ['longer', 6],
  ])('is a body that turns out %s than it was said to be', async (_, bytes) => {
    const { upstream, pool } = await front();
    const body = new HandBody();
    body.onStart = sink => {
      sink.chunk(Buffer.alloc(bytes, 'x'));
      sink.end();
    };
    expect((await ask(pool, { method: 'POST', bodyLength: 5, body })).failure?.kind).toBe('reset');
    await waitFor('the connection is gone', () => upstream.openConnections.length === 0);
    for (const request of upstream.requests) expect(request.complete).toBe(false);
  });
});

describe('time', () => {
  test('runs for the connect', async () => {
    const time = new FrozenClock();
    const pool = poolTo(await deafPort(), { connectTimeoutMs: 300 }, undefined, time);
    expect((await inTime(time, ask(pool))).failure).toMatchObject({ kind: 'connect', responseBegun: false });
  });

  test('runs for the first byte from the end of the request on, interim responses aside', async () => {
    const time = new FrozenClock(Date.now());
    const script: Script = async exchange => {
      await exchange.send('HTTP/1.1 102 Processing\r\n\r\n');
      await exchange.gone;
    };
    const { pool } = await front(script, {}, time);
    const { sink } = send(pool, { firstByteTimeoutMs: 10_000 });
    await waitFor('the interim response is there', () => sink.events.length === 1);
    time.advance(9_500);
    expect(sink.events).toEqual(['info 102']);
    time.advance(1_000);
    await sink.over;
    expect(sink.events).toEqual(['info 102', 'fail timeout']);
  });

  test('runs between two bytes of the response', async () => {
    const time = new FrozenClock();
    const { pool } = await front(pieces(`${OK}Content-Length: 5\r\n\r\n`, 'he'), {}, time);
    const { sink } = send(pool, { idleTimeoutMs: 400 });
    await waitFor('a part is there', () => sink.body === 'he');
    time.advance(350);
    expect(sink.events).toEqual(['head 200 5']);
    time.advance(500);
    await sink.over;
    expect(sink).toMatchObject({ events: ['head 200 5', 'fail truncated'], body: 'he' });
  });

  test('does not run while the sink has enough, and restarts when it wants more', async () => {
    const time = new FrozenClock(Date.now());
    const more = Promise.withResolvers<void>();
    const script: Script = async exchange => {
      await exchange.send(`${OK}Content-Length: 5\r\n\r\nhe`);
      await more.promise;
      await exchange.send('llo');
    };
    const { pool } = await front(script, {}, time);
    const sink = new CollectingSink();
    sink.wantsMore = false;
    const call = pool.send({ ...GET, idleTimeoutMs: 10_000 }, sink);
    await waitFor('it has enough', () => sink.body === 'he');
    time.advance(60_000);
    sink.wantsMore = true;
    call.resume();
    time.advance(9_500);
    expect(sink.events).toEqual(['head 200 5']);
    more.resolve();
    await sink.over;
    expect(sink).toMatchObject({ events: ['head 200 5', 'end'], body: 'hello' });
  });

  test('runs again for a sink that wanted more, and got nothing', async () => {
    const time = new FrozenClock();
    const { pool } = await front(pieces(`${OK}Content-Length: 5\r\n\r\nhe`), {}, time);
    const sink = new CollectingSink();
    sink.wantsMore = false;
    const call = pool.send({ ...GET, idleTimeoutMs: 500 }, sink);
    await waitFor('it has enough', () => sink.body === 'he');
    call.resume();
    await inTime(time, sink.over);
    expect(sink.events.at(-1)).toBe('fail truncated');
  });

  test('runs for an idle connection', async () => {
    const time = new FrozenClock();
    const { upstream, pool } = await front(responseOk, { keepAliveMs: 200 }, time);
    await expectServed(pool);
    expect(upstream.openConnections).toHaveLength(1);
    time.advance(2_000);
    await waitFor('it is closed', () => upstream.openConnections.length === 0);
  });
});

describe('a request', () => {
  test.each([
    ['at once', (act: () => void) => act()],
    // As Node hands on what it read together with the head.
    ['in the same turn of the event loop', (act: () => void) => process.nextTick(act)],
  ])('goes out in one write with the part of its body that comes %s', async (_, when) => {
    const upstream = await startUpstream();
    const writes: number[] = [];
    const pool = poolTo(upstream.port, {}, (options, onread) => {
      const socket = connectorFor(options, 'http/1.1', thisMachine.network)(options, onread);
      const { write } = socket;
      socket.write = (...parameters: unknown[]) => {
        writes.push(String(parameters[0]).length);
        return Reflect.apply(write, socket, parameters);
      };
      return socket;
    });
    for (const [i, bodyLength] of ([5, 'chunked'] as const).entries()) {
      const framing = bodyLength === 'chunked' ? '5\r\n\r\n'.length : 0;
      const body = new HandBody();
      body.onStart = sink => when(() => sink.chunk(Buffer.from('hello')));
      const { sink } = send(pool, { method: 'POST', bodyLength, body });
      await waitFor('a part is there', () => upstream.requests[i]?.bodyBytes === 5);
      const head = upstream.requests[i]?.head.length ?? 0;
      expect(writes.splice(0)).toEqual([head + framing + 5]);
      body.sink?.end();
      await sink.over;
      writes.length = 0;
    }
  });

  test('sends its head at once where nothing of the body is there', async () => {
    const { upstream, pool } = await front();
    const body = new HandBody();
    const { sink } = send(pool, { method: 'POST', bodyLength: 'chunked', body });
    await waitFor('the head is there', () => upstream.requests.length === 1);
    body.sink?.chunk(Buffer.from('hello'));
    body.sink?.chunk(Buffer.alloc(0));
    body.sink?.chunk(Buffer.alloc(100_000, 'x'));
    body.sink?.end();
    await sink.over;
    expect(upstream.onlyRequest.body.toString()).toBe(`hello${'x'.repeat(100_000)}`);
    expect(upstream.onlyRequest.complete).toBe(true);
  });

  test('must wait while the upstream does not read, and continues when it does', async () => {
    const { upstream, pool } = await front(async exchange => {
      exchange.connection.pause();
      await exchange.received();
      await exchange.answer(200, [], 'ok');
    });
    const body = new HandBody();
    const { sink } = send(pool, { method: 'POST', bodyLength: 'chunked', body });
    await waitFor('it is asked for', () => body.started);
    let sent = 0;
    for (let more = true; more; await sleep(0)) {
      more = body.sink?.chunk(Buffer.alloc(65_536, 'x')) ?? false;
      sent += 65_536;
      body.paused = !more;
    }
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    await waitFor('the request is there', () => upstream.requests.length === 1);
    upstream.onlyRequest.connection.resume();
    await waitFor('it may go on', () => !body.paused);
    body.sink?.end();
    await sink.over;
    expect(upstream.onlyRequest).toMatchObject({ complete: true, bodyBytes: sent });
  });
});

describe('bodies that are lent', () => {
  const MIB = 1024 * 1024;
  const digest = (bytes: Buffer | string): string => createHash('sha1').update(bytes).digest('hex');

  /** Takes its pieces with delay, and looks at the bytes only then. */
  class LateSink extends CollectingSink {
    readonly hash = createHash('sha1');
    readonly #delayMs: number;
    #waiting = 0;
    call: TransportCall | null = null;

    constructor(delayMs: number) {
      super();
      this.#delayMs = delayMs;
    }

    override data(chunk: Buffer, taken: ((error?: Error | null) => void) | null): boolean {
      this.#waiting++;
      void sleep(this.#delayMs).then(() => {
        this.hash.update(chunk);
        taken?.();
        if (--this.#waiting === 0) this.call?.resume();
      });
      return false;
    }

    override end(): void {
      void waitFor('all is taken', () => this.#waiting === 0).then(() => super.end([]));
    }
  }

  test.each(['length', 'chunked'])(
    'stay as they are until they are taken, with many at once (%s)',
    async framing => {
      const bodies = Array.from({ length: 8 }, (_, i) => new Random(i).bytes(MIB));
      const { pool } = await front(async exchange => {
        const body = bodies[Number(exchange.request.target.slice(1))] ?? Buffer.alloc(0);
        if (framing === 'length') return await exchange.answer(200, [], body);
        await exchange.send(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
        for (let at = 0; at < body.length; at += 10_000) {
          const piece = body.subarray(at, at + 10_000);
          await exchange.send(
            Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
          );
        }
        await exchange.send('0\r\n\r\n');
      });
      for (let round = 0; round < 3; round++) {
        const sinks = bodies.map((_, i) => {
          const sink = new LateSink(i % 4);
          sink.call = pool.send({ ...GET, target: `/${i}` }, sink);
          return sink;
        });
        await Promise.all(sinks.map(sink => sink.over));
        expect(sinks.map(sink => sink.hash.digest('hex'))).toEqual(bodies.map(digest));
      }
      expect(pool.connections).toBe(8);
    },
  );

  test('leave no slab behind: those that nobody needs are released', async () => {
    const time = new FrozenClock();
    const { pool } = await front(exchange => exchange.answer(200, [], Buffer.alloc(4 * MIB)), {}, time);
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        const sink = new LateSink(1);
        sink.call = pool.send(GET, sink);
        await sink.over;
      }),
    );
    expect(pool.slabs.size).toBeGreaterThan(0);
    await time.advanceUntil('none is kept', () => pool.slabs.size === 0);
  });
});

describe('a pool', () => {
  test('that is closed ends idle connections at once, and busy ones after their response', async () => {
    const release = Promise.withResolvers<void>();
    const upstream: CaptureUpstream = await startUpstream(async exchange => {
      if (exchange.request.target === '/slow') await release.promise;
      await responseOk(exchange);
    });
    const pool = poolTo(upstream.port);
    const slow = ask(pool, { target: '/slow' });
    await expectServed(pool);
    let closed = false;
    const closing = pool.close().then(() => {
      closed = true;
    });
    await waitFor('the idle one is gone', () => upstream.openConnections.length === 1);
    expect(closed).toBe(false);
    release.resolve();
    expect((await slow).events).toEqual(['whole 200']);
    await closing;
    expect(pool.connections).toBe(0);
  });

  test('that never had a connection is closed before the event loop turns', async () => {
    let closed = false;
    void poolTo(9)
      .close()
      .then(() => {
        closed = true;
      });
    await nextTurn();
    expect(closed).toBe(true);
  });
});
