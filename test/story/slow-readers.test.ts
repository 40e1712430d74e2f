import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { Random } from '../support/random.ts';
import { head } from '../support/requests.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { type RawClient, type Script, startUpstream } from '../support/wire/index.ts';

const MIB = 1024 * 1024;
const CLIENTS = 64;

/** `/length/N` and `/chunked/N` answer with body number N. */
function answering(bodies: readonly Buffer[]): Script {
  return async exchange => {
    const [, framing, number] = exchange.request.target.split('/');
    const body = bodies[Number(number)] ?? Buffer.alloc(0);
    if (framing === 'length') return await exchange.answer(200, [], body);
    await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (let at = 0; at < body.length; at += 50_000) {
      const piece = body.subarray(at, at + 50_000);
      await exchange.send(`${piece.length.toString(16)}\r\n`);
      await exchange.send(piece);
      await exchange.send('\r\n');
    }
    await exchange.send('0\r\n\r\n');
  };
}

/** Sends a body without end. */
const endless: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (;;) await exchange.send(CHUNK);
};
const CHUNK = `10000\r\n${'x'.repeat(0x10000)}\r\n`;

/** Reads for a moment and stalls for another, until the response is there. */
async function stutter(client: RawClient, stallMs: number, done: () => boolean): Promise<void> {
  while (!done()) {
    client.pause();
    await sleep(stallMs);
    client.resume();
    await sleep(1);
  }
}

test('clients that read fast, slowly and hardly at all each get their own bytes', async () => {
  const bodies = Array.from({ length: 12 }, (_, i) => new Random(i).bytes(2 * MIB));
  const upstream = await startUpstream(answering(bodies));
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const read = async (number: number): Promise<string> => {
    const client = await gateway.connect();
    const hash = createHash('sha1');
    let done = false;
    const response = client.ask(head(`GET /${number % 2 === 0 ? 'length' : 'chunked'}/${number}`), {
      keepBytes: 0,
      onData: bytes => hash.update(bytes),
    });
    void response.finally(() => {
      done = true;
    });
    if (number % 4 > 0) void stutter(client, 10 * (number % 4), () => done);
    expect(await response).toMatchObject({ complete: true, bodyBytes: 2 * MIB });
    return hash.digest('hex');
  };
  for (let round = 0; round < 2; round++) {
    const digests = await Promise.all(bodies.map((_, i) => read(i)));
    expect(digests).toEqual(bodies.map(body => createHash('sha1').update(body).digest('hex')));
  }
});

test('clients that stop reading and go free all their upstream connections', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.connect()));
  for (const client of clients) {
    client.pause();
    await client.send(head('GET /a'));
  }
  await waitFor('all wait', () => upstream.requests.length === CLIENTS);
  await sleep(300);
  for (const [i, client] of clients.entries()) client[i % 2 === 0 ? 'reset' : 'destroy']();
  await waitFor('all are free', () => upstream.openConnections.length === 0);
  upstream.script = exchange => exchange.answer(200, [], 'ok');
  expect((await gateway.ask(head('GET /after'))).body.toString()).toBe('ok');
});

test('clients that stop reading and stay free their upstream connections when their time is over', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { timeouts: { client_read: '1s' } },
  });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.connect()));
  for (const client of clients) {
    client.pause();
    await client.send(head('GET /a'));
  }
  await waitFor('all wait', () => upstream.requests.length === CLIENTS);
  await waitFor('all are free', () => upstream.openConnections.length === 0);
});

test('a client that does not read is disconnected although it keeps sending requests byte by byte', async () => {
  const upstream = await startUpstream(endless);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { timeouts: { client_read: '1s' } },
  });
  const client = await gateway.connect();
  client.pause();
  await client.send(head('GET /a'));
  await waitFor('it waits', () => upstream.requests.length === 1);
  await waitFor('it is disconnected', async () => {
    await client.send('G');
    await sleep(100);
    return upstream.openConnections.length === 0;
  });
});

test('memory falls back after many large bodies at once', async () => {
  const body = Buffer.alloc(4 * MIB, 'x');
  const upstream = await startUpstream(answering([body]));
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port, api: { keep_alive: '1s' } });
  const ask = async (target: string): Promise<void> => {
    expect(await gateway.ask(head(`GET ${target}`), { keepBytes: 0 })).toMatchObject({
      bodyBytes: body.length,
    });
  };
  await ask('/length/0');
  const before = await gateway.memoryBytes();
  for (let round = 0; round < 2; round++) {
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => ask(i % 2 === 0 ? '/length/0' : '/chunked/0')),
    );
  }
  await waitFor('it has fallen back', async () => (await gateway.memoryBytes()) - before < 64 * MIB);
});
