import { describe, expect, test } from 'vitest';
import { expectRejected } from '../support/error-object.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { responseOk, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

async function front(settings: Partial<GatewaySettings> = {}, script: Script = responseOk) {
  const upstream = await startUpstream(script);
  const time = new FrozenClock(Date.now());
  const gateway = await startGateway({ upstreamPort: upstream.port, clock: time, ...settings });
  return { upstream, gateway, time, client: await gateway.connect() };
}

/**
 * Sends so many bytes in each second of the gateway's, until it has answered or so many seconds have gone. A second ends when its
 * bytes are upstream, or would be.
 */
async function trickle(
  { client, upstream, gateway, time }: Awaited<ReturnType<typeof front>>,
  bytes: number,
  seconds: number,
): Promise<void> {
  const begun = client.received.length;
  const isAnswered = () => client.end !== null || client.received.length > begun;
  for (let sent = 1; sent <= seconds && !isAnswered(); sent++) {
    await client.send('x'.repeat(bytes));
    const [request] = upstream.requests;
    if (request !== undefined)
      await waitFor('it is upstream', () => request.bodyBytes >= sent * bytes || isAnswered());
    time.advance(1_000);
    // Whatever the gateway sends on that is here before the answer to a later question.
    await gateway.admin('/healthz');
  }
}

describe('a body that brings less than 240 bytes a second', () => {
  test('gets 408 after half a minute, and frees its place', async () => {
    const fronts = await front({ api: { max_requests: 1 } });
    const { upstream, gateway, client } = fronts;
    await client.send(head('POST /a', 'Content-Length: 100000'));
    await waitFor('it is upstream', () => upstream.requests.length === 1);
    expect((await gateway.ask(head('GET /b'))).status).toBe(503);
    await trickle(fronts, 1, 200);
    await expectRejected(client, 408, 4);
    await waitFor('the upstream connection is gone', () => upstream.openConnections.length === 0);
    expect(upstream.requests[0]?.complete).toBe(false);
    expect((await gateway.ask(head('GET /b'))).status).toBe(200);
  });

  test('passes on a route that says so', async () => {
    const fronts = await front({ route: { min_body_rate: 'off' } });
    await fronts.client.send(head('POST /a', 'Content-Length: 60'));
    await trickle(fronts, 1, 60);
    expect((await fronts.client.answer()).status).toBe(200);
  });
});

test('a client is not slow because the upstream is', async () => {
  const size = 16 * 1024 * 1024;
  // Half a minute goes by, until a client that sends nothing is refused: this would be a quarter of the rate that the route wants.
  const { upstream, gateway, time, client } = await front(
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
  await waitFor('the idle one is upstream', () => upstream.requests.length === 2);
  await waitFor('the idle one is refused', () => {
    time.advance(1_000);
    return idle.bytesRead > 0;
  });
  await expectRejected(idle, 408, 4);
  upstream.requests[0]?.connection.resume();
  expect((await response).status).toBe(200);
});

test('a sign-in body that does not arrive within ten seconds gets 408, even while bytes keep coming', async () => {
  const time = new FrozenClock(Date.now());
  const { gateway, upstream } = await startGatewayOf(await startIssuer(), { clock: time });
  const client = await gateway.connect();
  await client.send(head('POST /v1/anonymous/auth', 'Content-Length: 60000'));
  await trickle({ client, upstream, gateway, time }, 1_000, 60);
  await expectRejected(client, 408, 4);
});
