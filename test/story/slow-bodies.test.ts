import { describe, expect, test } from 'vitest';
import { expectRejected } from '../support/error-object.ts';
import { fastClock } from '../support/fast-clock.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, type RawClient, responseOk, type Script, startUpstream } from '../support/wire/index.ts';

/** Half a minute is a second and a half. */
const clock = fastClock(20);

async function front(settings: Partial<GatewaySettings> = {}, script: Script = responseOk) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, clock, ...settings });
  return { upstream, gateway, client: await gateway.connect() };
}

/** Sends so many bytes every 50 ms, a second to the gateway, until the connection ends or so many seconds have gone. */
async function trickle(client: RawClient, bytes: number, seconds: number): Promise<void> {
  for (let i = 0; i < seconds && client.end === null; i++) {
    await client.send('x'.repeat(bytes));
    await sleep(50);
  }
}

describe('a body that brings less than 240 bytes a second', () => {
  test('gets 408 after half a minute, and frees its place', async () => {
    const { upstream, gateway, client } = await front({ api: { max_requests: 1 } });
    await client.send(head('POST /a', 'Content-Length: 100000'));
    await waitFor('it is upstream', () => upstream.requests.length === 1);
    expect((await gateway.ask(head('GET /b'))).status).toBe(503);
    void trickle(client, 1, 200);
    await expectRejected(client, 408, 4);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.requests[0]?.complete).toBe(false);
    expect((await gateway.ask(head('GET /b'))).status).toBe(200);
  });

  test('passes on a route that says so', async () => {
    const { client } = await front({ route: { min_body_rate: 'off' } });
    await client.send(head('POST /a', 'Content-Length: 60'));
    void trickle(client, 1, 60);
    expect((await client.answer()).status).toBe(200);
  });

  test('passes where it ends within half a minute', async () => {
    const { client } = await front();
    await client.send(head('POST /a', 'Content-Length: 10'));
    void trickle(client, 1, 10);
    expect((await client.answer()).status).toBe(200);
  });
});

test('a body that brings more passes, however long it takes', async () => {
  const { client } = await front();
  await client.send(head('POST /a', 'Content-Length: 60000'));
  void trickle(client, 1_000, 60);
  expect((await client.answer()).status).toBe(200);
});

test('a client is not slow because the upstream is', async () => {
  const size = 16 * 1024 * 1024;
  // Half a minute goes by, until a client that sends nothing is refused: this would be a quarter of the rate that the route wants.
  const { upstream, gateway, client } = await front(
    { route: { min_body_rate: '2MiB/s' } },
    async exchange => {
      exchange.connection.pause();
      await exchange.received();
      await exchange.answer(200);
    },
  );
  const response = client.answer();
  await client.send(head('POST /a', `Content-Length: ${size}`));
  void client.send(Buffer.alloc(size));
  await waitFor('it is upstream', () => upstream.requests.length === 1);
  const idle = await gateway.connect();
  await idle.send(head('POST /b', 'Content-Length: 1'));
  await expectRejected(idle, 408, 4);
  upstream.requests[0]?.connection.resume();
  expect((await response).status).toBe(200);
});

test('a sign-in body that does not arrive within ten seconds gets 408, even while bytes keep coming', async () => {
  const { gateway } = await startGatewayOf(await startIssuer(), { clock });
  const client = await gateway.connect();
  await client.send(head('POST /v1/anonymous/auth', 'Content-Length: 60000'));
  void trickle(client, 1_000, 60);
  await expectRejected(client, 408, 4);
});

test('an unwanted rest of a body holds its connection for at most half a minute', async () => {
  const { client } = await front({ route: { path: '/a' } });
  // No route takes it. The rest of the body is read so that the connection can be kept.
  await client.send(head('POST /b', 'Content-Length: 60000'));
  const response = await client.answer();
  expect([response.status, header(response, 'connection')]).toEqual([404, 'keep-alive']);
  void trickle(client, 1, 200);
  expect(await client.ended()).toMatch(/close|reset/);
});
