import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { changeConfig, configPart } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import type { RawClient } from '../support/wire/index.ts';
import { clientsOfEach } from '../support/workers.ts';

const WORKERS = 3;

/** A service that says how it is at `/healthz`. */
async function startService() {
  const service = { isHealthy: true, checks: 0, requests: 0, url: '' };
  const server = createServer((request, response) => {
    if (request.url !== '/healthz') {
      service.requests++;
      response.end('well');
      return;
    }
    service.checks++;
    response.writeHead(service.isHealthy ? 200 : 500).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

async function front(every: string, timeout: string) {
  const [good, bad] = [await startService(), await startService()];
  bad.isHealthy = false;
  const health = { path: '/healthz', every, timeout, healthy: 1, unhealthy: 1 };
  const gateway = await startGateway({
    upstreamPort: 0,
    api: { url: undefined, urls: [good.url, bad.url], health },
    config: { workers: WORKERS, log: { level: 'info', access: true } },
  });
  const clients = await clientsOfEach(gateway, WORKERS);
  const ask = async (client: RawClient) => expect((await client.ask(head('GET /things'))).status).toBe(200);
  const lines = (text: string) => gateway.logLines.filter(line => line.includes(text));
  return { gateway, good, bad, clients, ask, lines };
}

test('an endpoint is checked once for all workers, and none of them uses one that fails its checks', async () => {
  const { gateway, good, bad, clients, ask, lines } = await front('1h', '59m');
  await waitFor('both are checked', () => good.checks > 0 && lines('it answered 500').length > 0);
  bad.requests = 0;
  for (const client of clients) for (let count = 0; count < 20; count++) await ask(client);
  expect([good.checks, bad.checks, bad.requests]).toEqual([1, 1, 0]);
  // One thread tells of it, for all.
  expect(lines('its health checks fail')).toHaveLength(1);
  // Without checks, nothing is known against it.
  const upstreams = await configPart(gateway, 'upstreams');
  await changeConfig(gateway, { upstreams: { api: { ...(upstreams['api'] as object), health: undefined } } });
  await gateway.app.reload();
  await allUse(bad, clients, ask);
});

test('all workers use an endpoint again once its checks succeed', async () => {
  const { gateway, bad, clients, ask, lines } = await front('1s', '990ms');
  const port = new URL(bad.url).port;
  const told = (what: string) => lines(what).filter(line => line.includes(`:${port}"`)).length;
  await waitFor('it is out', () => told('its health checks fail') > 0);
  const before = told('an endpoint gets requests again');
  bad.isHealthy = true;
  await gateway.time.advanceUntil('it is back', () => told('an endpoint gets requests again') > before);
  await allUse(bad, clients, ask);
});

/** Waits until each worker has sent a request there. */
async function allUse(
  service: { readonly requests: number },
  clients: readonly RawClient[],
  ask: (client: RawClient) => Promise<void>,
): Promise<void> {
  for (const client of clients) {
    const before = service.requests;
    await waitFor('it is used', async () => {
      await ask(client);
      return service.requests > before;
    });
  }
}
