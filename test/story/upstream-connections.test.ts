import { lookup } from 'node:dns/promises';
import { describe, expect, test } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { expectError } from '../support/error-object.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { clockOfTests } from '../support/test-clock.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { responseOk, type Script, startUpstream, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

async function front(script?: Script, api: ConfigPart = {}, clock: TimerClock = clockOfTests()) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, api, clock });
  return { upstream, gateway, client: await gateway.connect() };
}

describe('a connection to the upstream', () => {
  test('serves one request after the other, of all clients', async () => {
    withoutWorkers();
    const { upstream, gateway } = await front();
    for (let i = 0; i < 5; i++) expect((await gateway.ask(withBody('POST /a', 'hello'))).status).toBe(200);
    expect(upstream.connections).toHaveLength(1);
    expect(upstream.requests).toHaveLength(5);
  });

  test('stays open when a client closes its own', async () => {
    withoutWorkers();
    const { upstream, gateway } = await front();
    for (let i = 0; i < 3; i++)
      expect((await gateway.ask(head('GET /a', 'Connection: close'))).status).toBe(200);
    expect(upstream.connections).toHaveLength(1);
  });

  test('closes when it was idle for keep_alive', async () => {
    const time = new FrozenClock();
    const { upstream, client } = await front(undefined, { keep_alive: '200ms' }, time);
    await client.ask(head('GET /a'));
    time.advance(190);
    expect(upstream.openConnections).toHaveLength(1);
    time.advance(2_000);
    await waitFor('it is closed', () => upstream.openConnections.length === 0);
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    expect(upstream.connections).toHaveLength(2);
  });

  test('closes a second before the upstream would, if the upstream announces that', async () => {
    const time = new FrozenClock(Date.now());
    const script: Script = exchange => exchange.answer(200, ['Keep-Alive', 'timeout=10'], 'ok');
    const { upstream, client } = await front(script, {}, time);
    await client.ask(head('GET /a'));
    time.advance(8_500);
    await client.ask(head('GET /a'));
    expect(upstream.connections).toHaveLength(1);
    time.advance(9_500);
    await waitFor('it is closed', () => upstream.openConnections.length === 0);
  });
});

test('an upstream known by name is reached at any address where it listens', async () => {
  for (const { address } of await lookup('localhost', { all: true })) {
    const upstream = await startUpstream({ host: address });
    const url = `http://localhost:${upstream.port}`;
    const gateway = await startGateway({ upstreamPort: upstream.port, api: { url, host: 'upstream' } });
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'host')).toEqual([`localhost:${upstream.port}`]);
  }
});

describe('a request whose reused connection closes under it', () => {
  /** Answers the first request of a connection and resets it at the second. */
  const stale: Script = async exchange => {
    await exchange.received();
    if (exchange.connection.requests.length > 1) exchange.connection.reset();
    else await exchange.answer(200, [], 'ok');
  };

  test('is sent once more where that is safe, and else is a 502', async () => {
    for (const [bytes, status] of [
      [head('GET /again'), 200],
      [head('POST /again'), 502],
      [withBody('PUT /again', 'hello'), 502],
      [inChunks('GET /again', ['hello']), 502],
    ] as const) {
      const { upstream, client } = await front(stale);
      await client.ask(head('GET /first'));
      const response = await client.ask(bytes);
      if (status === 200) expect(response.status).toBe(200);
      else expectError(response, 502, 14);
      const sent = status === 200 ? ['/again', '/again'] : ['/again'];
      expect(upstream.requests.map(request => request.target)).toEqual(['/first', ...sent]);
    }
  });

  test('is not sent once more where few know its method', async () => {
    const upstream = await startUpstream(stale);
    const gateway = await startGateway({ upstreamPort: upstream.port, route: { methods: ['GET', 'BREW'] } });
    const client = await gateway.connect();
    await client.ask(head('GET /first'));
    expectError(await client.ask(head('BREW /again')), 502, 14);
    expect(upstream.requests.map(({ method }) => method)).toEqual(['GET', 'BREW']);
  });

  test('is not sent again when part of a response had come', async () => {
    const { upstream, client } = await front(async exchange => {
      if (exchange.connection.requests.length === 1) return await exchange.answer(200, [], 'ok');
      await exchange.send('HTTP/1.1 200 OK\r\nConte');
      exchange.connection.reset();
    });
    await client.ask(head('GET /first'));
    expectError(await client.ask(head('GET /once')), 502, 14);
    expect(upstream.requests).toHaveLength(2);
  });

  test('is safe when many connections closed at once', async () => {
    const { upstream, gateway } = await front(async exchange => {
      await sleep(20);
      await responseOk(exchange);
    });
    const ask = () => Promise.all(Array.from({ length: 20 }, () => gateway.ask(head('GET /a'))));
    await ask();
    for (const connection of upstream.openConnections) connection.end();
    const responses = await ask();
    expect(responses.map(response => response.status)).toEqual(Array(20).fill(200));
  });
});
