import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { thisMachine } from '../../src/core/index.ts';
import { askProvider } from '../../src/identity/signin/ask-provider.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { usedBytes } from '../support/memory.ts';
import { head } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Most of what a test weighs beside the bytes in question. */
const NOISE = 1_048_576;

test('sign-in bodies in single bytes take no more memory than the cap allows for each', async () => {
  const { gateway } = await startGatewayOf(await startIssuer(), {
    config: { log: { level: 'silent', access: false } },
    // Else a busy machine takes so long that the gateway ends the bodies as too slow.
    clock: new FrozenClock(),
  });
  const [requests, bytes] = [20, runs(3_000, 1_000)];
  const clients = await Promise.all(Array.from({ length: requests }, () => gateway.connect()));
  for (const client of clients) await client.send(head('POST /v1/anonymous/auth', 'Content-Length: 65536'));
  const before = usedBytes();
  const piece = Buffer.from(' ');
  // Each byte comes in a read of its own.
  for (let i = 0; i < bytes; i++) {
    await Promise.all(clients.map(client => client.send(piece)));
    await turn();
  }
  const inFlight = async () => (await gateway.metric('weir_requests_in_flight')).get('');
  await waitFor('all are in flight', async () => (await inFlight()) === requests);
  // As arrays of pieces they would take 300 bytes a byte: 6 MB of 1,000 bytes each.
  expect(usedBytes() - before).toBeLessThan(requests * 65_536 + NOISE);
});

test("a provider's response in single bytes takes no more memory than its size", async () => {
  const bytes = runs(20_000, 8_000);
  const sent = Promise.withResolvers<void>();
  const server = createServer(async (_, response) => {
    for (let i = 0; i < bytes; i++) {
      response.write('x');
      await turn();
    }
    sent.resolve();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const stop = new AbortController();
  const before = usedBytes();
  const response = askProvider(
    {
      method: 'GET',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      headers: {},
      body: null,
      deadline: stop.signal,
    },
    {
      tls: { ca: null, certificate: null, key: null },
      proxy: null,
      timeoutMs: 5_000,
      maxResponseBytes: 1_048_576,
    },
    thisMachine.network,
  );
  await sent.promise;
  for (let i = 0; i < 10; i++) await turn();
  const taken = usedBytes() - before;
  stop.abort();
  await expect(response).rejects.toThrow('did not finish its response in time');
  expect(taken).toBeLessThan(2 * bytes + NOISE);
});
