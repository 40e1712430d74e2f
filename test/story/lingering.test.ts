import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { sleep } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const REFUSED = head('POST /a', 'Content-Length: 099999');

test('requests pipelined after a refused one are not even read, however many arrive', async () => {
  const upstream = await startUpstream();
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  expect((await client.ask(REFUSED + 'x'.repeat(99_999))).status).toBe(400);
  const before = await gateway.memoryBytes();
  const flood = head('GET /a').repeat(1_000);
  // Most rounds wait in vain: the system takes no more once its buffers are full.
  for (let round = 0; round < 12 && client.end !== 'reset'; round++)
    await Promise.race([client.send(flood), sleep(50)]).catch(() => {});
  // An object for each of them would be hundreds of megabytes.
  expect((await gateway.memoryBytes()) - before).toBeLessThan(100 * 1024 * 1024);
  expect((await gateway.ask(head('GET /b'))).status).toBe(200);
  expect(upstream.requests.map(request => request.target)).toEqual(['/b']);
});

test('a client that keeps sending after its refusal is still cut off', async () => {
  const time = new FrozenClock(Date.now());
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, clock: time });
  const client = await gateway.connect();
  expect((await client.ask(REFUSED)).status).toBe(400);
  const connections = async () => (await gateway.metric('weir_client_connections')).get('');
  // For eight seconds: a client that paused for two of them would be cut off by that.
  for (let round = 0; round < 40; round++) {
    await client.send('x');
    await sleep(5);
    time.advance(200);
  }
  await expect.poll(connections).toBe(0);
});

test('requests sent after a refused one do not cost the client any of its response', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  client.pause();
  const many = head('GET /a', `X: ${'x'.repeat(1_000)}`).repeat(50);
  await client.send(head('GET /a%2fb') + many);
  await client.sendSlowly(Array(20).fill(many), 5);
  client.resume();
  expect((await client.answer()).status).toBe(400);
  expect(await client.ended()).toBe('close');
  expect(upstream.requests).toEqual([]);
});
