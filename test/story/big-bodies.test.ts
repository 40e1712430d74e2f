import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { shared } from '../support/lifetime.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { settled, sleep, waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const MIB = 1024 * 1024;
const BLOCKS = 128;
/** Of a period that nothing else has. */
const BLOCK = Buffer.alloc(MIB, new Random(1).bytes(4_093));
const SIZE = BLOCKS * MIB;
/** What Node and its buffers may take beside what the gateway took when it was idle. */
const MEMORY_ROOM = 96 * MIB;

/** A block as one chunk of a chunked body. */
const CHUNK = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), BLOCK, Buffer.from('\r\n')]);

/** Takes the bytes of a body. Tells at the end whether they were those of the blocks. */
function comparison() {
  let at = 0;
  let isSame = true;
  return {
    take: (bytes: Buffer) => {
      for (let from = 0; from < bytes.length; ) {
        const begin = at % MIB;
        const length = Math.min(bytes.length - from, MIB - begin);
        isSame &&= bytes.compare(BLOCK, begin, begin + length, from, from + length) === 0;
        from += length;
        at += length;
      }
    },
    isSame: () => isSame && at === SIZE,
  };
}

/** Runs the work and returns how far the gateway's memory rose meanwhile. */
async function memoryRise(gateway: GatewayProcess, work: Promise<unknown>): Promise<number> {
  const before = await gateway.memoryBytes();
  let most = before;
  let done = false;
  void work.finally(() => {
    done = true;
  });
  while (!done) {
    most = Math.max(most, await gateway.memoryBytes());
    await sleep(50);
  }
  await work;
  return most - before;
}

let received = comparison();

/** A process, and a service that takes any body and answers a GET with so many blocks: /length/128 or /chunked/2. */
const front = shared(async () => {
  const upstream = await startUpstream(async exchange => {
    exchange.request.onData = bytes => received.take(bytes);
    await exchange.received();
    const [, framing, blocks] = exchange.request.target.split('/');
    if (blocks === undefined) return await exchange.answer(200, [], 'ok');
    const isChunked = framing === 'chunked';
    const says = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${Number(blocks) * MIB}`;
    await exchange.send(`HTTP/1.1 200 OK\r\n${says}\r\n\r\n`);
    for (let i = 0; i < Number(blocks); i++) await exchange.send(isChunked ? CHUNK : BLOCK);
    if (isChunked) await exchange.send('0\r\n\r\n');
  });
  const api = { keep_alive: '1s', max_requests_per_caller: '100%' };
  return { upstream, gateway: await startGatewayProcess({ upstreamPort: upstream.port, api }) };
});

dear('memory falls back after many large bodies at once', async () => {
  const { gateway } = await front();
  const ask = async (target: string): Promise<void> => {
    expect(await gateway.ask(head(`GET ${target}`), { keepBytes: 0 })).toMatchObject({ bodyBytes: 2 * MIB });
  };
  await ask('/length/2');
  const before = await gateway.memoryBytes();
  for (let round = 0; round < 2; round++)
    await Promise.all(Array.from({ length: 32 }, (_, i) => ask(i % 2 === 0 ? '/length/2' : '/chunked/2')));
  await waitFor('it has fallen back', async () => (await gateway.memoryBytes()) - before < 64 * MIB);
});

dear(
  'a body of 128 MiB comes down in little memory, byte for byte, with its length and chunked',
  async () => {
    const { gateway } = await front();
    for (const framing of ['length', 'chunked']) {
      const client = await gateway.connect();
      const body = comparison();
      const asked = head(`GET /${framing}/${BLOCKS}`);
      const response = client.ask(asked, { keepBytes: 0, onData: body.take });
      expect(await memoryRise(gateway, response)).toBeLessThan(MEMORY_ROOM);
      expect(await response).toMatchObject({ complete: true, bodyBytes: SIZE });
      expect(body.isSame()).toBe(true);
    }
  },
);

dear('a body of 128 MiB goes up in little memory, byte for byte, with its length and chunked', async () => {
  const { gateway, upstream } = await front();
  for (const framing of ['length', 'chunked']) {
    received = comparison();
    upstream.forget();
    const client = await gateway.connect();
    await client.send(
      head('PUT /a', framing === 'length' ? `Content-Length: ${SIZE}` : 'Transfer-Encoding: chunked'),
    );
    const work = (async () => {
      for (let i = 0; i < BLOCKS; i++) await client.send(framing === 'length' ? BLOCK : CHUNK);
      if (framing === 'chunked') await client.send('0\r\n\r\n');
      return await client.answer();
    })();
    expect(await memoryRise(gateway, work)).toBeLessThan(MEMORY_ROOM);
    expect((await work).status).toBe(200);
    expect(upstream.onlyRequest).toMatchObject({ complete: true, bodyBytes: SIZE });
    expect(received.isSame()).toBe(true);
  }
});

/** Kernels keep some megabytes for each of the two connections; a body must be much larger than that. */
const LARGE = 64 * MIB;
const BUFFERS = 32 * MIB;

test('a client that does not read holds up the upstream, until it reads', async () => {
  let sent = 0;
  const upstream = await startUpstream(async exchange => {
    await exchange.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
    for (; sent < LARGE; sent += MIB) await exchange.send(BLOCK);
  });
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  client.pause();
  await client.send(head('GET /a'));
  await waitFor('the response flows', () => sent > 0);
  expect(await settled(() => gateway.admin('/healthz').then(() => sent))).toBeLessThan(BUFFERS);
  client.resume();
  expect(await client.answer({ keepBytes: 0 })).toMatchObject({ complete: true, bodyBytes: LARGE });
});

test('an upstream that does not read holds up the client, until it reads', async () => {
  const upstream = await startUpstream(async exchange => {
    exchange.connection.pause();
    await exchange.received();
    await exchange.answer(200, [], 'ok');
  });
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  await client.send(head('PUT /a', `Content-Length: ${LARGE}`));
  const sending = (async () => {
    for (let i = 0; i < LARGE / MIB; i++) await client.send(BLOCK);
  })();
  await waitFor('the body flows', () => client.bytesFlushed > MIB);
  expect(await settled(() => gateway.admin('/healthz').then(() => client.bytesFlushed))).toBeLessThan(
    BUFFERS,
  );
  upstream.onlyRequest.connection.resume();
  await sending;
  expect((await client.answer()).status).toBe(200);
  expect(upstream.onlyRequest).toMatchObject({ complete: true, bodyBytes: LARGE });
});

test('a slow reader of many does not hold up the others', async () => {
  const upstream = await startUpstream(exchange => exchange.answer(200, [], Buffer.alloc(LARGE / 4)));
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const slow = await gateway.connect();
  slow.pause();
  await slow.send(head('GET /slow'));
  for (let i = 0; i < 3; i++) {
    expect((await gateway.ask(head('GET /quick'), { keepBytes: 0 })).bodyBytes).toBe(LARGE / 4);
  }
});
