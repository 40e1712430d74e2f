import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { changeConfig, refusals, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { head } from '../support/requests.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };

async function settings(config = {}) {
  const upstream = await startUpstream();
  return {
    upstreamPort: upstream.port,
    config: { workers: 2, log: { level: 'info', access: true }, ...config },
  };
}

const started = async (config = {}): Promise<GatewayProcess> => startGatewayProcess(await settings(config));

/** The instances that access lines name: each worker is one. */
function instances(log: string): Set<string> {
  return new Set(Array.from(log.matchAll(/"instance":"([^"]+)"/g), ([, name = '']) => name));
}

/** Asks on new connections until each worker has answered one. */
async function reachAll(gateway: GatewayProcess, count: number): Promise<void> {
  await waitFor(`${count} workers answer`, async () => {
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    return instances(gateway.output).size >= count;
  });
}

describe('weir serve with workers: 2', () => {
  test('serves at one address with both, and logs whole lines of both', async () => {
    const gateway = await started();
    await reachAll(gateway, 2);
    gateway.signal('SIGTERM');
    expect(await gateway.exit).toBe(0);
    const lines = gateway.output.trim().split('\n');
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
    expect(lines.filter(line => line.includes('"msg":"listening"'))).toHaveLength(1);
    expect(lines.filter(line => line.includes('"msg":"stopped"'))).toHaveLength(1);
  });

  test('uses a new configuration in all workers, and an invalid one in none', async () => {
    const gateway = await started();
    await reachAll(gateway, 2);
    await changeConfig(gateway, { routes: [{ path: '/b', upstream: 'api', authentication: 'none' }] });
    gateway.signal('SIGHUP');
    await serves(gateway, 2);
    const text = await readFile(gateway.configFile, 'utf8');
    await writeFile(gateway.configFile, 'upstreams: {}\nroutes: none\n');
    gateway.signal('SIGHUP');
    await refusals(gateway, 1);
    await writeFile(gateway.configFile, text);
    const statuses = async () => {
      const asked = Array.from({ length: 20 }, (_, index) =>
        gateway.ask(head(index % 2 ? 'GET /a' : 'GET /b')),
      );
      return new Set(
        (await Promise.all(asked)).map(({ status }, index) => `${index % 2 ? 'a' : 'b'} ${status}`),
      );
    };
    // The main thread knows a moment before the workers do.
    await waitFor('all use it', async () => (await statuses()).size === 2);
    expect(await statuses()).toEqual(new Set(['b 200', 'a 404']));
    gateway.signal('SIGTERM');
    expect(await gateway.exit).toBe(0);
    const told = gateway.output
      .split('\n')
      .filter(line => line.includes('"the new configuration is in use"'));
    expect(told).toHaveLength(1);
  });

  test('says which address is taken, and ends with code 1', async () => {
    const first = await started();
    const listen = { http: `127.0.0.1:${first.port}`, admin: 'off' };
    await expect(started({ listen })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${first.port}: another process already listens there`,
    );
  });

  test('ends with code 75 when requests are cut off', async () => {
    const upstream = await startUpstream(async () => {});
    const gateway = await startGatewayProcess({
      upstreamPort: upstream.port,
      config: { workers: 2, shutdown: { delay: '0s', drain: '1ms' } },
    });
    const client = await gateway.connect();
    await client.send(head('GET /a'));
    await waitFor('it is in flight', () => upstream.requests.length === 1);
    gateway.signal('SIGTERM');
    expect(await gateway.exit).toBe(75);
  });
});

test('a client resumes its TLS session at any worker, and is one pseudonym in the log', async () => {
  const { gateway } = await startTlsGateway({
    config: { workers: 3, log: { level: 'info', access: true } },
  });
  const first = await gateway.connect({ tls: TRUST });
  await first.ask(head('GET /a'));
  const session = first.tls.getSession();
  const resumed: boolean[] = [];
  await waitFor('each worker has been asked', async () => {
    const client = await gateway.connect({ tls: { ...TRUST, ...(session && { session }) } });
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    resumed.push(client.tls.isSessionReused());
    return instances(gateway.logLines.join('')).size === 3;
  });
  expect(resumed).not.toContain(false);
  const keyIds = gateway.logLines.map(line => JSON.parse(line).keyId).filter(keyId => keyId !== undefined);
  expect(new Set(keyIds).size).toBe(1);
});

test('several planes serve in one thread', async () => {
  const gateway = await startGateway({ ...(await settings()), config: { workers: 3 } });
  for (let count = 0; count < 10; count++) expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  await changeConfig(gateway, { routes: [{ path: '/b', upstream: 'api', authentication: 'none' }] });
  await gateway.app.reload();
  for (let count = 0; count < 10; count++) expect((await gateway.ask(head('GET /a'))).status).toBe(404);
});
