import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import { settled, sleep, waitFor } from '../support/wait.ts';
import { header, responseOk, type Script, startUpstream } from '../support/wire/index.ts';

async function front(script?: Script, path = '/**') {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, route: { path } });
  return { upstream, gateway, client: await gateway.connect() };
}

/** Says the request's target in the response's body, the sooner the later the request. */
const echo: Script = async exchange => {
  await exchange.received();
  await sleep(exchange.request.target === '/1' ? 50 : 0);
  await exchange.answer(200, [], exchange.request.target);
};

test('requests sent in one go are served one at a time and answered in their order', async () => {
  let inFlight = 0;
  const { upstream, client } = await front(async exchange => {
    expect(++inFlight).toBe(1);
    await echo(exchange);
    inFlight--;
  });
  await client.send(
    head('GET /1') + withBody('POST /2', 'hello') + inChunks('PUT /3', ['a', 'b']) + head('HEAD /4'),
  );
  const responses = [];
  for (const method of ['GET', 'POST', 'PUT', 'HEAD']) responses.push(await client.answer({ to: method }));
  expect(responses.map(response => response.body.toString())).toEqual(['/1', '/2', '/3', '']);
  expect(upstream.requests.map(request => request.body.toString())).toEqual(['', 'hello', 'ab', '']);
});

test('however many are sent in one go, all are served in turn', async () => {
  const { upstream, client } = await front(echo);
  const targets = Array.from({ length: 500 }, (_, i) => `/${i + 1}`);
  await client.send(targets.map(target => head(`GET ${target}`)).join(''));
  for (const target of targets) expect((await client.answer()).body.toString()).toBe(target);
  expect((await client.ask(head('GET /after'))).body.toString()).toBe('/after');
  expect(upstream.requests).toHaveLength(501);
});

test('between requests that were sent in one go, others have their turn', async () => {
  const { client } = await front(responseOk, '/known');
  // The gateway is in this process, so that its turns of the event loop can be counted here.
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await client.send(head('GET /unknown').repeat(3_200));
  for (let i = 0; i < 3_200; i++) expect((await client.answer()).status).toBe(404);
  done = true;
  expect(turns).toBeGreaterThanOrEqual(200);
});

test('nothing is served after a request that closes the connection', async () => {
  const { upstream, client } = await front();
  await client.send(head('GET /1', 'Connection: close') + head('GET /2'));
  expect(header(await client.answer(), 'connection')).toBe('close');
  expect(await client.ended()).toBe('close');
  expect(client.unread.length).toBe(0);
  expect(upstream.onlyRequest.target).toBe('/1');
});

test('a request after a refused one is served if its first byte is certain', async () => {
  const { upstream, client } = await front(echo, '/known');
  await client.send(head('GET /unknown') + head('GET /known'));
  expect((await client.answer()).status).toBe(404);
  expect((await client.answer()).body.toString()).toBe('/known');
  expect(upstream.onlyRequest.target).toBe('/known');
});

test('bytes that are not a request get 400, after the response to the request before them', async () => {
  const { client } = await front(echo);
  await client.send(`${head('GET /1')}nonsense\r\n\r\n`);
  expect((await client.answer()).body.toString()).toBe('/1');
  expect((await client.answer()).status).toBe(400);
  expect(await client.ended()).toBe('close');
});

test('nothing is served after a request of another version, which is answered in order', async () => {
  const { upstream, client } = await front(echo);
  const other = 'GET /2 HTTP/2.0\r\nHost: gateway.test\r\nConnection: keep-alive\r\n\r\n';
  await client.send(head('GET /1') + other + head('GET /3'));
  expect((await client.answer()).body.toString()).toBe('/1');
  expect((await client.answer()).status).toBe(505);
  expect(await client.ended()).toBe('close');
  expect(client.unread.length).toBe(0);
  expect(upstream.onlyRequest.target).toBe('/1');
});

test('a client that sends faster than it is served is made to wait, and gets every response', async () => {
  const told = Promise.withResolvers<void>();
  const { client } = await front(async exchange => {
    await told.promise;
    await exchange.answer(200, [], exchange.request.target);
  });
  const targets = Array.from({ length: 500 }, (_, i) => `/${i + 1}`);
  const sent = client.sendSlowly(
    targets.map(target => head(`GET ${target}`, `X: ${'x'.repeat(1_000)}`)),
    1,
  );
  await waitFor('more is on its way than the gateway reads ahead', () => client.bytesFlushed > 200_000);
  told.resolve();
  for (const target of targets) expect((await client.answer()).body.toString()).toBe(target);
  await sent;
});

test('a response is finished even if a request for a tunnel follows', async () => {
  const body = Buffer.alloc(16 * 1024 * 1024, 'a');
  const { upstream, client } = await front(async exchange => {
    await exchange.answer(200, [], body);
  });
  client.pause();
  await client.send(head('GET /large') + head('CONNECT gateway.test:80'));
  await waitFor('the request is upstream', () => upstream.requests.length === 1);
  await settled(() => upstream.connections[0]?.bytesWaiting ?? 0);
  client.resume();
  expect(await client.answer({ keepBytes: 0 })).toMatchObject({ complete: true, bodyBytes: body.length });
  expect((await client.answer()).status).toBe(405);
});

describe('behind a request that takes long', () => {
  const flood = head('GET /behind').repeat(6_000);

  test.each(['leaves', 'closes its side'])('a client that sends on is noticed when it %s', async how => {
    const upstream = await startUpstream(() => {});
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const inFlight = () => gateway.metric('weir_requests_in_flight');
    const client = await gateway.connect();
    await client.send(head('GET /slow'));
    await expect.poll(inFlight).toEqual(new Map([['', 1]]));
    void client.send(flood);
    await settled(() => client.bytesWaiting);
    if (how === 'leaves') client.reset();
    else client.endSending();
    await gateway.time.advanceUntil('it is noticed', async () => (await inFlight()).get('') === 0);
    expect(upstream.requests.map(request => request.target)).toEqual(['/slow']);
  });

  test('requests that fill the buffer are dropped, and its response is the last one', async () => {
    const answered = Promise.withResolvers<void>();
    const { upstream, gateway, client } = await front(async exchange => {
      await answered.promise;
      await exchange.answer(200, [], exchange.request.target);
    });
    await client.send(head('GET /slow'));
    // More than the system holds: it is sent only when the gateway has taken most of it.
    await inTime(gateway.time, client.send(Buffer.alloc(32 * 1_048_576, head('GET /behind'))));
    answered.resolve();
    const response = await client.answer();
    expect(response.body.toString()).toBe('/slow');
    expect(header(response, 'connection')).toBe('close');
    expect(await inTime(gateway.time, client.ended())).toBe('close');
    expect(upstream.requests).toHaveLength(1);
  });
});
