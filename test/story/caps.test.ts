import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SharedMemory } from '../../src/core/index.ts';
import { SharedPermits } from '../../src/limits/index.ts';
import { expectError, expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { partOf } from '../support/process-part.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Response, startUpstream } from '../support/wire/index.ts';

/** A gateway whose upstream answers only when told, so that requests stay in flight. */
async function front(settings: Partial<GatewaySettings>) {
  const held = Promise.withResolvers<void>();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/held') await held.promise;
    await exchange.answer(200, [], 'ok');
  });
  const gateway = await startGateway({ upstreamPort: upstream.port, ...settings });
  return { upstream, gateway, release: held.resolve };
}

function expectOverloaded(response: Response): void {
  expectError(response, 503, 14);
  expect(header(response, 'retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('past a cap on requests in flight a request is answered 503 at once, and served when there is room', () => {
  test.each([
    ['in all', { config: { caps: { requests: 2 } } }],
    ['of one address', { config: { caps: { requests_per_address: 2 } } }],
    ['to one upstream', { api: { max_requests: 2, max_requests_per_caller: '100%' } }],
  ])('%s', async (_, settings) => {
    const { upstream, gateway, release } = await front(settings);
    const first = [gateway.ask(head('GET /held')), gateway.ask(head('GET /held'))];
    await waitFor('two are in flight', () => upstream.requests.length === 2);
    const client = await gateway.connect();
    expectOverloaded(await client.ask(head('GET /third')));
    expect(upstream.requests).toHaveLength(2);
    release();
    expect((await Promise.all(first)).map(response => response.status)).toEqual([200, 200]);
    await waitFor('there is room', async () => (await client.ask(head('GET /third'))).status === 200);
  });

  test('a permit lasts to the end of the body, not of the head', async () => {
    const upstream = await startUpstream(async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      await exchange.gone;
    });
    const gateway = await startGateway({ upstreamPort: upstream.port, api: { max_requests: 1 } });
    const client = await gateway.connect();
    await client.send(head('GET /a'));
    await waitFor('the body has begun', () => client.received.includes('hello'));
    expectOverloaded(await gateway.ask(head('GET /b')));
    client.reset();
    await waitFor('the client is forgotten', async () => {
      const other = await gateway.connect();
      await other.send(head('GET /b'));
      return await waitFor('a response', () => other.bytesRead > 0).then(() =>
        other.received.includes('200 '),
      );
    });
  });
});

describe('past a cap on connections', () => {
  test.each([
    ['in all', { connections: 2 }],
    ['of one address', { connections_per_address: 2 }],
  ])('the next one, %s, is answered 503 and closed, and welcome when there is room', async (_, caps) => {
    const { gateway } = await front({ config: { caps } });
    const [first] = [await gateway.connect(), await gateway.connect()];
    const third = await gateway.connect();
    await third.send(head('GET /a'));
    const response = await third.answer();
    expectOverloaded(response);
    expect(await third.ended()).toBe('close');
    first?.destroy();
    await waitFor('there is room', async () => (await gateway.ask(head('GET /a'))).status === 200);
  });
});

test('of a flood of connections no more are answered than twice the cap', async () => {
  const { gateway } = await front({ config: { caps: { connections: 2 } } });
  const clients = [];
  for (let i = 0; i < 8; i++) clients.push(await gateway.connect());
  await Promise.all(clients.slice(4).map(client => client.ended()));
  expect(clients.map(client => client.received.includes('503 '))).toEqual([
    ...[false, false, true, true],
    ...[false, false, false, false],
  ]);
});

describe('a header section', () => {
  test('of the size of the cap passes, one that is larger is 431', async () => {
    const { upstream, gateway } = await front({ config: { caps: { head: '4KiB' } } });
    expect((await gateway.ask(head('GET /a', `X: ${'x'.repeat(3_900)}`))).status).toBe(200);
    const client = await gateway.connect();
    await client.send(head('GET /a', `X: ${'x'.repeat(5_000)}`));
    await expectRejected(client, 431);
    expect(upstream.requests).toHaveLength(1);
  });

  test('without end is cut at the cap, not at the end of memory', async () => {
    const { gateway } = await front({});
    const client = await gateway.connect();
    void client.sendSlowly(
      Array(100)
        .fill(`X: ${'x'.repeat(1_000)}\r\n`.repeat(10))
        .with(0, 'GET /a HTTP/1.1\r\n'),
      0,
    );
    await expectRejected(client, 431);
  });
});

describe('a body larger than its route accepts', () => {
  const SMALL = { route: { max_body: '1KiB' } };

  test('is 413 before a byte goes upstream, when its length says so', async () => {
    const { upstream, gateway } = await front(SMALL);
    expect((await gateway.ask(withBody('POST /a', 'x'.repeat(1_024)))).status).toBe(200);
    expectError(await gateway.ask(withBody('POST /a', 'x'.repeat(1_025))), 413, 3);
    expect(upstream.requests).toHaveLength(1);
  });

  test('is 413 when its chunks turn out to be, and the upstream does not take the part for the whole', async () => {
    const { upstream, gateway } = await front(SMALL);
    expect((await gateway.ask(inChunks('POST /a', ['x'.repeat(1_000), 'x'.repeat(7)]))).status).toBe(200);
    const client = await gateway.connect();
    await client.send(`${head('POST /b', 'Transfer-Encoding: chunked')}3e8\r\n${'x'.repeat(1_000)}\r\n`);
    await waitFor('the first chunk is upstream', () => upstream.requests.at(-1)?.bodyBytes === 1_000);
    await client.send(`19\r\n${'x'.repeat(25)}\r\n0\r\n\r\n`);
    await expectRejected(client, 413);
    await waitFor(
      'the upstream connection is gone',
      () => upstream.requests.at(-1)?.connection.open === false,
    );
    expect(upstream.requests.at(-1)?.complete).toBe(false);
  });
});

describe('gateways that share what they count are at a cap together', () => {
  /** The parts of two workers, and how the main thread takes back what the first one holds. */
  function twoWorkers() {
    const main = SharedMemory.create(2, randomBytes);
    const permits = new SharedPermits(main, 100);
    const partsOf = (worker: number) => {
      const memory = new SharedMemory(structuredClone(main.handover), worker);
      return partOf(new SharedPermits(memory, 100).named);
    };
    return { one: partsOf(1), other: partsOf(2), firstEnds: () => permits.giveBackAll(1) };
  }

  test.each([
    ['requests of all addresses', { config: { caps: { requests: 1 } } }],
    ['requests of one address', { config: { caps: { requests_per_address: 1 } } }],
    ['requests to one upstream', { api: { max_requests: 1 } }],
  ])('%s', async (_, settings) => {
    const workers = twoWorkers();
    const one = await front({ ...settings, part: workers.one });
    const other = await front({ ...settings, part: workers.other });
    const first = one.gateway.ask(head('GET /held'));
    await waitFor('one is in flight', () => one.upstream.requests.length === 1);
    expectOverloaded(await other.gateway.ask(head('GET /a')));
    expect(other.upstream.requests).toHaveLength(0);
    one.release();
    expect((await first).status).toBe(200);
    await waitFor('there is room', async () => (await other.gateway.ask(head('GET /a'))).status === 200);
  });

  test('connections', async () => {
    const workers = twoWorkers();
    const config = { caps: { connections: 2 } };
    const one = await front({ config, part: workers.one });
    const other = await front({ config, part: workers.other });
    const clients = [await one.gateway.connect(), await one.gateway.connect()];
    for (const client of clients) expect((await client.ask(head('GET /a'))).status).toBe(200);
    const third = await other.gateway.connect();
    await third.send(head('GET /a'));
    expectOverloaded(await third.answer());
    clients[0]?.destroy();
    await waitFor('there is room', async () => (await other.gateway.ask(head('GET /a'))).status === 200);
  });

  test('until one of them ends: its places are free at once', async () => {
    const workers = twoWorkers();
    const settings = { config: { caps: { requests: 2, connections: 3 } }, api: { max_requests: 1 } };
    const one = await front({ ...settings, part: workers.one });
    const other = await front({ ...settings, part: workers.other });
    for (let count = 0; count < 3; count++) void one.gateway.ask(head('GET /held')).catch(() => {});
    await waitFor('one is in flight', () => one.upstream.requests.length === 1);
    expectOverloaded(await other.gateway.ask(head('GET /a')));
    await workers.firstEnds();
    expect((await other.gateway.ask(head('GET /a'))).status).toBe(200);
  });
});
