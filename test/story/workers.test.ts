import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { thisMachine } from '../../src/core/index.ts';
import { makeLogger } from '../../src/observe/index.ts';
import type { PlaneHost } from '../../src/process/workers/index.ts';
import type { Link } from '../../src/process/workers/link.ts';
import { changeConfig, refusals, replaceFile, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { inThreadHost } from '../support/in-thread-host.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { clockOfTests, forSockets } from '../support/test-clock.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { workersIn } from '../support/workers.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };

async function settings(config = {}) {
  const upstream = await startUpstream();
  return {
    upstreamPort: upstream.port,
    config: { workers: 2, log: { level: 'info', access: true }, ...config },
  };
}

const started = async (config = {}): Promise<GatewayProcess> => startGatewayProcess(await settings(config));

/** Asks on new connections until each worker has answered one. */
async function reachAll(gateway: GatewayProcess, count: number): Promise<void> {
  await waitFor(`${count} workers answer`, async () => {
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
    return workersIn(gateway.output).size >= count;
  });
}

describe('weir serve with workers: 2', () => {
  dear(
    'collects in each thread what starting left, before it listens, and ends with code 75 when requests are cut off',
    async () => {
      const trace = `process.getBuiltinModule('v8').setFlagsFromString('--trace-gc')`;
      const preload = `data:text/javascript,${encodeURIComponent(trace)}`;
      const upstream = await startUpstream(async () => {});
      const gateway = await startGatewayProcess(
        {
          upstreamPort: upstream.port,
          config: {
            workers: 2,
            log: { level: 'info', access: false },
            shutdown: { delay: '0s', drain: '1ms' },
          },
        },
        { before: `export NODE_OPTIONS="--import=${preload}"` },
      );
      const [before = ''] = gateway.output.split('"msg":"listening"');
      // V8's word for a collection that a program asks for.
      const collections = before.split('\n').filter(line => line.includes(' testing;'));
      const threads = collections.map(line => /^\[\d+:(0x[\da-f]+)/.exec(line)?.[1]);
      expect(new Set(threads).size).toBe(3);
      const client = await gateway.connect();
      await client.send(head('GET /a'));
      await waitFor('it is in flight', () => upstream.requests.length === 1);
      gateway.signal('SIGTERM');
      expect(await gateway.exit).toBe(75);
    },
  );

  test('serves at one address with both, uses a new configuration in all and an invalid one in none, and logs whole lines', async () => {
    const gateway = await started();
    await reachAll(gateway, 2);
    await changeConfig(gateway, { routes: [{ path: '/b', upstream: 'api', authentication: 'none' }] });
    gateway.signal('SIGHUP');
    await serves(gateway, 2);
    const text = await readFile(gateway.configFile, 'utf8');
    await replaceFile(gateway.configFile, 'upstreams: {}\nroutes: none\n');
    // Found by watching alone: a signal that comes later than that would have it refused once more.
    await refusals(gateway, 1);
    await replaceFile(gateway.configFile, text);
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
    const lines = gateway.output.trim().split('\n');
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
    for (const message of ['listening', 'the new configuration is in use', 'stopped'])
      expect(lines.filter(line => line.includes(`"msg":"${message}"`))).toHaveLength(1);
  });
});

test('a gateway with workers says which address is taken', async () => {
  const { port } = await startUpstream();
  const started = startGateway(await settings({ listen: { http: `127.0.0.1:${port}`, admin: 'off' } }));
  await expect(started).rejects.toThrow(`EADDRINUSE: address already in use 127.0.0.1:${port}`);
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
    return workersIn(gateway.logLines.join('')).size === 3;
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

test('a worker keeps what it has prepared while it begins to use an earlier configuration', async () => {
  const links: Link[] = [];
  const clock = clockOfTests();
  const machine = { ...thisMachine, clock: forSockets(clock) };
  const inner = inThreadHost(machine, makeLogger('silent', { write: () => {} }));
  const start: PlaneHost['start'] = seed => {
    const hosted = inner.start(seed);
    links.push(hosted.link);
    return hosted;
  };
  const gateway = await startGateway({ ...(await settings()), clock, host: { ...inner, start } });
  const configOf = async (generation: number, path: string) => {
    await changeConfig(gateway, { routes: [{ path, upstream: 'api', authentication: 'none' }] });
    const loaded = await loadConfig(gateway.configFile, { env: {}, generation });
    if (!loaded.ok) throw new Error('the configuration has errors');
    return { generation, data: loaded.data };
  };
  const [earlier, later] = [await configOf(100, '/b'), await configOf(101, '/c')];
  for (const link of links) {
    for (const config of [earlier, later]) await link.ask('prepare', config);
    for (const { generation } of [earlier, later]) link.post('commit', generation);
  }
  const statusOf = async (path: string) => (await gateway.ask(head(`GET ${path}`))).status;
  for (let count = 0; count < 10; count++)
    expect([await statusOf('/b'), await statusOf('/c')]).toEqual([404, 200]);
});
