import { describe, expect, test } from 'vitest';
import { type ConfigPart, type LocalGateway, startGateway } from '../support/gateway.ts';
import { Random } from '../support/random.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import { settled, sleep, waitFor } from '../support/wait.ts';
import { type CaptureUpstream, responseOk, type Script, startUpstream } from '../support/wire/index.ts';

const silence: Script = async exchange => await exchange.gone;

let piecesSent = 0;

/** Sends a body without end. */
const endless: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (; ; piecesSent++) await exchange.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
};

async function front(script: Script, api: ConfigPart = {}) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, api });
  return { upstream, gateway, client: await gateway.connect() };
}

async function expectBaseline(gateway: LocalGateway, upstream: CaptureUpstream): Promise<void> {
  const gauge = async (name: string): Promise<number> => [...(await gateway.metric(name)).values()][0] ?? 0;
  await gateway.time.advanceUntil(
    'no request is in flight',
    async () => (await gauge('weir_requests_in_flight')) === 0,
  );
  await gateway.time.advanceUntil(
    'no client is connected',
    async () => (await gauge('weir_client_connections')) === 0,
  );
  // Idle upstream connections may stay, as many as either side knows.
  await gateway.time.advanceUntil(
    'the upstream connections agree',
    async () => (await gauge('weir_upstream_connections')) === upstream.openConnections.length,
  );
}

describe('when the client disconnects, the upstream connection is closed within moments', () => {
  const start = head('POST /a', 'Content-Length: 10');
  test.each([
    ['while the upstream thinks', head('GET /a'), silence],
    ['while the upstream thinks about a body', withBody('POST /a', 'hello'), silence],
    ['inside its request body', `${start}hello`, responseOk],
    ['inside its chunks', `${head('POST /a', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`, responseOk],
    ['inside the response', head('GET /a'), endless],
    ['inside the response, its body unfinished', `${start}hello`, endless],
  ])('%s', async (_, bytes, script) => {
    for (const leave of ['reset', 'destroy'] as const) {
      // No timeout ends it while this test waits.
      const { upstream, gateway, client } = await front(script, {
        timeouts: { first_byte: '10m', idle: '10m' },
      });
      await client.send(bytes);
      await waitFor('the request is upstream', () => upstream.requests.length === 1);
      if (script === endless) await waitFor('the response flows', () => client.bytesRead > 0);
      client[leave]();
      await gateway.time.advanceUntil('the upstream is let go', () => upstream.openConnections.length === 0);
      await expectBaseline(gateway, upstream);
    }
  });

  test('while its response waits for it to read', async () => {
    const { upstream, gateway, client } = await front(endless);
    client.pause();
    await client.send(head('GET /a'));
    await waitFor('the request is upstream', () => upstream.requests.length === 1);
    await settled(() => piecesSent);
    client.reset();
    await gateway.time.advanceUntil('the upstream is let go', () => upstream.openConnections.length === 0);
    await expectBaseline(gateway, upstream);
  });

  test('while its body waits for the upstream to read, at the latest when that is too slow', async () => {
    // Node does not notice a reset while it does not read; the upstream's time is what ends this wait.
    const { upstream, gateway, client } = await front(
      async exchange => {
        exchange.connection.pause();
        await exchange.gone;
      },
      { timeouts: { first_byte: '1s' } },
    );
    void client.send(head('POST /a', 'Content-Length: 100000000'));
    void client.send(Buffer.alloc(50_000_000));
    await waitFor('the request is upstream', () => upstream.requests.length === 1);
    await settled(() => client.bytesFlushed);
    client.reset();
    gateway.time.advance(2_000);
    await expectBaselineAfterResume(gateway, upstream);
  });
});

/** A paused upstream does not see that the gateway left until it reads again. */
async function expectBaselineAfterResume(gateway: LocalGateway, upstream: CaptureUpstream): Promise<void> {
  const inFlight = async (): Promise<number> =>
    [...(await gateway.metric('weir_requests_in_flight')).values()][0] ?? 0;
  await waitFor('the gateway gave it up', async () => (await inFlight()) === 0);
  for (const connection of upstream.connections) connection.resume();
  await gateway.time.advanceUntil('the upstream is let go', () => upstream.openConnections.length === 0);
  await expectBaseline(gateway, upstream);
}

test('a client that half-closes after its request still gets its response', async () => {
  const halfClosed = Promise.withResolvers<void>();
  const { gateway, client } = await front(async exchange => {
    await halfClosed.promise;
    await exchange.answer(200, [], 'late');
  });
  await client.send(head('GET /a'));
  client.endSending();
  await waitFor('the gateway knows', async () => (await gateway.admin('/healthz')).status === 200);
  gateway.time.advance(300);
  halfClosed.resolve();
  expect((await client.answer()).body.toString()).toBe('late');
  expect(await client.ended()).toBe('close');
});

test('a client that closes inside a head is forgotten', async () => {
  const { upstream, gateway, client } = await front(responseOk);
  await client.send('GET /a HTTP/1.1\r\nHo');
  client.endSending();
  await client.ended();
  client.destroy();
  await expectBaseline(gateway, upstream);
  expect(upstream.requests).toEqual([]);
});

const DEPARTURES = runs(500, 150);

test(`after ${DEPARTURES} clients and upstreams that broke off anywhere, nothing is left of them`, async () => {
  const random = new Random(7);
  const { upstream, gateway, client } = await front(async exchange => {
    const fate = random.below(6);
    if (fate === 0) return exchange.connection.reset();
    if (fate === 1) return exchange.connection.end();
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
    if (fate === 2) return exchange.connection.reset();
    await exchange.send(Buffer.alloc(random.below(100_000)));
    if (fate === 3) return exchange.connection.reset();
    if (fate === 4) return exchange.connection.end();
    await exchange.gone;
  });
  client.destroy();
  const requests = [
    head('GET /a'),
    withBody('PUT /a', 'x'.repeat(50_000)),
    inChunks('POST /a', ['x'.repeat(50_000), 'y']),
  ];
  let answered = 0;
  const abortOne = async (): Promise<void> => {
    const other = await gateway.connect();
    const bytes = random.pick(requests);
    const part = random.chance(0.5) ? bytes : bytes.slice(0, random.below(bytes.length));
    await other.send(part);
    if (part === bytes && random.chance(0.5)) {
      // So many have got to the upstream, however busy the machine is.
      await waitFor('it is answered', () => other.bytesRead > 0 || other.end !== null);
      answered++;
    }
    await sleep(random.below(20));
    if (random.chance(0.5)) other.reset();
    else other.destroy();
  };
  for (let round = 0; round < DEPARTURES / 10; round++)
    await Promise.all(Array.from({ length: 10 }, abortOne));
  await expectBaseline(gateway, upstream);
  // Its script answers nobody well: a fresh one shows that the gateway still serves.
  upstream.script = responseOk;
  expect((await gateway.ask(head('GET /after'))).status).toBe(200);
  expect(answered).toBeGreaterThan(10);
  expect(upstream.requests.length).toBeGreaterThan(answered);
});
