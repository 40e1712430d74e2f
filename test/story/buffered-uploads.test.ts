import { expect, test } from 'vitest';
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
  expect(upstream.requests[0]?.body.toString()).toBe('abc');
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
  const { upstream, gateway } = await front({}, { timeouts: { client_body: '10m' } });
  const client = await gateway.connect();
  await client.send(`${POST(5)}hell`);
  const answer = client.answer();
  await gateway.time.advanceUntil('it is refused', () => client.received.length > 0, 500);
  expect((await answer).status).toBe(408);
  expect(upstream.connections).toHaveLength(0);
});

test('a client that leaves, and a broken body, never reach the service', async () => {
  const { upstream, gateway } = await front();
  const client = await gateway.connect();
  await client.send(`${POST(5)}hell`);
  client.destroy();
  const broken = await gateway.ask(`${head('POST /b', 'Transfer-Encoding: chunked')}1\r\na\r\nzz\r\n`);
  expect(broken.status).toBe(400);
  expect((await gateway.ask(head('GET /c'))).status).toBe(200);
  expect(upstream.onlyRequest.target).toBe('/c');
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
