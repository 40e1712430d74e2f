import { expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { sleep } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const REFUSED = head('POST /a', 'Content-Length: 099999');

test('requests pipelined after a refused one are not even read, however many arrive', async () => {
  const upstream = await startUpstream();
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  expect((await client.ask(REFUSED + 'x'.repeat(99_999))).status).toBe(400);
  await sleep(100);
  const before = await gateway.memoryBytes();
  const flood = head('GET /a').repeat(1_000);
  const floodUntil = performance.now() + 1_500;
  while (performance.now() < floodUntil && client.end !== 'reset') {
    await Promise.race([client.send(flood), sleep(100)]).catch(() => {});
    await sleep(1);
  }
  // An object for each of them would be hundreds of megabytes.
  expect((await gateway.memoryBytes()) - before).toBeLessThan(100 * 1024 * 1024);
  expect((await gateway.ask(head('GET /b'))).status).toBe(200);
  expect(upstream.requests.map(request => request.target)).toEqual(['/b']);
});

test('a client that keeps sending after its refusal is still cut off', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const client = await gateway.connect();
  expect((await client.ask(REFUSED)).status).toBe(400);
  const connections = async () => (await gateway.metric('weir_client_connections')).get('');
  const giveUpAt = performance.now() + 8_000;
  while ((await connections()) !== 0 && performance.now() < giveUpAt) {
    await client.send('x').catch(() => {});
    await sleep(200);
  }
  expect(await connections()).toBe(0);
}, 15_000);

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
