import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { type Script, startUpstream, values } from '../support/wire/index.ts';

const POST = (length: number, ...lines: string[]) => head('POST /a', `Content-Length: ${length}`, ...lines);

async function front(
  api: Record<string, unknown> = {},
  config: Record<string, unknown> = {},
  script?: Script,
) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { buffer_body: '1KiB', ...api },
    config,
  });
  return { upstream, gateway };
}

/** A service that reads nothing until it is told to, and then answers once a request with a body of so many bytes has come whole. */
async function slowService() {
  const sockets: Socket[] = [];
  const server = createServer(socket => void sockets.push(socket.on('error', () => {}).pause()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const readOn = (length: number) => {
    let left: number | null = null;
    sockets[0]?.removeAllListeners('data').on('data', bytes => {
      left ??= bytes.indexOf('\r\n\r\n') + 4 + length;
      left -= bytes.length;
      if (left === 0) sockets[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    sockets[0]?.resume();
  };
  return { service: { readOn }, sockets, port: (server.address() as AddressInfo).port };
}

test('a service is asked once the whole body is there, and holds no place before', async () => {
  const { upstream, gateway } = await front({ max_requests: 1, max_requests_per_caller: '100%' });
  const slow = await gateway.connect();
  await slow.send(`${POST(10)}hello`);
  // The only place of the upstream is free for others.
  for (let i = 0; i < 3; i++) expect((await gateway.ask(head('GET /b'))).status).toBe(200);
  expect(upstream.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
  expect([...(await gateway.metric('weir_buffered_bytes')).values()][0]).toBeGreaterThan(0);
  await slow.send('world');
  expect((await slow.answer()).status).toBe(200);
  expect(upstream.requests.at(-1)).toMatchObject({ method: 'POST' });
  expect(upstream.requests.at(-1)?.body.toString()).toBe('helloworld');
  expect((await slow.ask(withBody('POST /c', 'again'))).status).toBe(200);
});

test('a chunked body is read whole as well, and a longer one is streamed', async () => {
  const { upstream, gateway } = await front();
  expect((await gateway.ask(inChunks('POST /a', ['a', 'b', 'c']))).status).toBe(200);
  expect(upstream.requests[0]).toMatchObject({ framing: 3, body: Buffer.from('abc') });
  const long = await gateway.connect();
  const piece = 'x'.repeat(600);
  await long.send(head('POST /b', 'Transfer-Encoding: chunked'));
  for (let i = 0; i < 2; i++) await long.send(`258\r\n${piece}\r\n`);
  await waitFor('the service has the head', () => upstream.requests.length === 2);
  await long.send('0\r\n\r\n');
  expect((await long.answer()).status).toBe(200);
  expect(upstream.requests[1]?.body.toString()).toBe(piece + piece);
  const stated = await gateway.connect();
  await stated.send(`${POST(2_000)}x`);
  await waitFor('the service has the head', () => upstream.requests.length === 3);
  stated.destroy();
  upstream.takeViolations();
});

test('Expect is answered first, also where the service should decide', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { buffer_body: '1KiB' },
    route: { expect: 'pass' },
  });
  const client = await gateway.connect();
  await client.send(POST(5, 'Expect: 100-continue'));
  await client.continued();
  expect(upstream.connections).toHaveLength(0);
  await client.send('hello');
  expect((await client.answer()).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'expect')).toEqual([]);
});

test('a body that takes longer than a minute is a 408, and the service is not asked', async () => {
  const { upstream, gateway } = await front(
    {},
    { timeouts: { client_body: '10m' }, defaults: { min_body_rate: 'off' } },
  );
  const client = await gateway.connect();
  await client.send(`${POST(5)}hell`);
  const answer = client.answer();
  const before = gateway.time.monotonicMs();
  await gateway.time.advanceUntil('it is refused', () => client.received.length > 0, 500);
  expect((await answer).status).toBe(408);
  expect(gateway.time.monotonicMs() - before).toBeGreaterThan(58_000);
  expect(gateway.time.monotonicMs() - before).toBeLessThan(65_000);
  expect(upstream.connections).toHaveLength(0);
});

test('where caps.buffered is full, bodies are streamed', async () => {
  const { upstream, gateway } = await front({ buffer_body: '8MiB' }, { caps: { buffered: '4MiB' } });
  const client = await gateway.connect();
  const length = 6 * 1024 * 1024;
  await client.send(POST(length));
  const sending = client.send('x'.repeat(length - 1));
  await waitFor(
    'the service has the head',
    () => upstream.requests.length === 1 || upstream.connections.length === 1,
  );
  await sending;
  await client.send('x');
  expect((await client.answer()).status).toBe(200);
  expect(upstream.onlyRequest.bodyBytes).toBe(length);
});

test('a body counts until its service has taken it, and its connection serves the next request', async () => {
  const { service, sockets, port } = await slowService();
  const gateway = await startGateway({
    upstreamPort: port,
    api: { buffer_body: '16MiB' },
    config: { caps: { buffered: '512MiB' } },
  });
  const held = async () => [...(await gateway.metric('weir_buffered_bytes')).values()][0] ?? 0;
  const client = await gateway.connect();
  // More than the kernel takes for a service that reads nothing.
  const length = 12 * 1024 * 1024;
  await client.send(withBody('POST /a', 'x'.repeat(length)));
  await waitFor('the service is asked', () => sockets.length === 1);
  await waitFor('all of it is counted', async () => (await held()) > length);
  service.readOn(length);
  expect((await client.answer()).status).toBe(200);
  await waitFor('nothing is counted', async () => (await held()) === 0);
  service.readOn(0);
  expect((await client.ask(head('GET /b'))).status).toBe(200);
  expect(sockets).toHaveLength(1);
});

test('a full upstream is found when the body is there', async () => {
  let release = () => {};
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  const { gateway } = await front(
    { max_requests: 1, max_requests_per_caller: '100%' },
    {},
    async exchange => {
      await exchange.received();
      if (exchange.request.target === '/hold') await held;
      await exchange.answer(200, [], 'ok');
    },
  );
  const slow = await gateway.connect();
  await slow.send(`${POST(10)}hello`);
  const holder = await gateway.connect();
  await holder.send(head('GET /hold'));
  await waitFor('it is held', async () =>
    [...(await gateway.metric('weir_requests_in_flight')).values()].includes(2),
  );
  await slow.send('world');
  expect((await slow.answer()).status).toBe(503);
  release();
  expect((await holder.answer()).status).toBe(200);
});
