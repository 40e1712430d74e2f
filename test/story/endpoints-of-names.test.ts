import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestAuthority } from '../support/certificates.ts';
import { DnsServer, hostAt, serviceAt } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { startHealthServer } from '../support/grpc.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const SERVICE = '_http._tcp.api.test';

/** A service that answers with its name; its health is what the test says. The end of the running test stops it. */
class Service {
  readonly name: string;
  health = 200;
  /** The `Host` of requests, and of those for `/healthz`. */
  readonly hosts = new Set<string>();
  readonly checkedHosts = new Set<string>();
  readonly #server: Server;

  private constructor(name: string) {
    this.name = name;
    this.#server = createServer((request, response) => {
      const isCheck = request.url === '/healthz';
      (isCheck ? this.checkedHosts : this.hosts).add(request.headers.host ?? '');
      response.statusCode = isCheck ? this.health : 200;
      response.end(name);
    });
  }

  static async start(name: string, host: string, port?: number): Promise<Service> {
    const service = new Service(name);
    // Others may listen there later, at other hosts.
    const at = port ?? (await freePort());
    await new Promise<void>(listening => service.#server.listen(at, host, listening));
    onTestFinished(() => service.stop());
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise(resolve => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

async function ask(gateway: LocalGateway, path = '/'): Promise<string> {
  const headers = { Connection: 'close' };
  const response = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers });
  return `${response.status} ${await response.text()}`;
}

/** Who answers, of so many requests one after the other. */
async function whoAnswers(gateway: LocalGateway, requests = 40): Promise<Set<string>> {
  const names = new Set<string>();
  for (let i = 0; i < requests; i++) names.add(await ask(gateway));
  return names;
}

interface Upstream {
  readonly endpoints: readonly {
    readonly address: string;
    readonly state: string;
    readonly why: string | null;
  }[];
  readonly allEndpointsOut: boolean;
  readonly lookupFault: string | null;
}

async function statusOf(gateway: LocalGateway): Promise<Upstream> {
  const { text } = await gateway.admin('/status.json');
  const { upstreams } = JSON.parse(text) as { readonly upstreams: readonly Upstream[] };
  const [api] = upstreams;
  if (api === undefined) throw new Error('no upstream');
  return api;
}

describe('an upstream with a name', () => {
  it('follows it to another address without a failed request', async () => {
    const dns = await DnsServer.start();
    const old = await Service.start('old', '127.0.0.1');
    dns.records.set('api.test', [hostAt('127.0.0.1')]);
    const gateway = await startGateway({
      ...{ upstreamPort: 0, network: dns.network },
      api: { url: `http://api.test:${old.port}` },
      config: { log: { level: 'info', access: true } },
    });
    expect(await ask(gateway)).toBe('200 old');
    const next = await Service.start('new', '127.0.0.2', old.port);
    dns.records.set('api.test', [hostAt('127.0.0.2')]);
    await old.stop();
    expect(await whoAnswers(gateway, 5)).toEqual(new Set(['200 new']));
    const lines = gateway.logLines.map(line => JSON.parse(line));
    expect(lines.find(({ type }) => type === 'upstream')).toMatchObject({
      ...{ upstream: 'api', count: 1 },
      ...{ added: [`127.0.0.2:${next.port}`], removed: [`127.0.0.1:${next.port}`] },
    });
    expect(lines.findLast(({ type }) => type === 'access')).toMatchObject({
      endpoint: `127.0.0.2:${next.port}`,
    });
  });
});

describe('an upstream with addresses of both families', () => {
  it('is reached by the other one where the first refuses, bodies included', async () => {
    const dns = await DnsServer.start();
    const service = await Service.start('v4', '127.0.0.1');
    dns.records.set('api.test', [hostAt('127.0.0.1'), hostAt('::1')]);
    const gateway = await startGateway({
      ...{ upstreamPort: 0, network: dns.network },
      api: { url: `http://api.test:${service.port}` },
    });
    const posted = await fetch(`http://127.0.0.1:${gateway.port}/`, { method: 'POST', body: 'x' });
    expect(`${posted.status} ${await posted.text()}`).toBe('200 v4');
    // A worker that has sent nothing yet still has the first.
    expect((await statusOf(gateway)).endpoints.map(({ address }) => address)).toContain(
      `127.0.0.1:${service.port}`,
    );
  });
});

describe('an upstream with SRV records', () => {
  it('sends to all hosts, and to others as records come and go, without a failed request', async () => {
    const dns = await DnsServer.start();
    const services = [];
    for (const name of ['a', 'b', 'c']) {
      const service = await Service.start(name, '127.0.0.1');
      dns.records.set(`${name}.test`, [hostAt('127.0.0.1')]);
      services.push(service);
    }
    const [a, b, c] = services as [Service, Service, Service];
    dns.records.set(SERVICE, [serviceAt('a.test', a.port), serviceAt('b.test', b.port)]);
    const gateway = await startGateway({
      ...{ upstreamPort: 0, network: dns.network },
      api: { url: `srv+http://${SERVICE}`, host: 'upstream' },
    });
    expect(await whoAnswers(gateway)).toEqual(new Set(['200 a', '200 b']));
    // Stops one service: the failed connect has the records looked up again.
    dns.records.set(SERVICE, [serviceAt('b.test', b.port), serviceAt('c.test', c.port)]);
    const seen = new Set<string>();
    const clients = Array.from({ length: 6 }, async () => {
      await waitFor('the new host answers', async () => {
        for (const answer of await whoAnswers(gateway, 10)) seen.add(answer);
        return seen.has('200 c');
      });
    });
    await a.stop();
    await Promise.all(clients);
    expect([...seen].filter(answer => !answer.startsWith('200'))).toEqual([]);
    expect(b.hosts).toEqual(new Set(['api.test']));
    const { endpoints, lookupFault } = await statusOf(gateway);
    const places = [b, c].map(({ port }) => `127.0.0.1:${port}`);
    expect(endpoints.map(({ address }) => address).toSorted()).toEqual(places.toSorted());
    expect(lookupFault).toBeNull();
  });

  it('answers 502 while the records are not known, and as soon as they are serves', async () => {
    const dns = await DnsServer.start();
    dns.state = 'fails';
    const service = await Service.start('a', '127.0.0.1');
    dns.records.set('a.test', [hostAt('127.0.0.1')]);
    dns.records.set(SERVICE, [serviceAt('a.test', service.port)]);
    const gateway = await startGateway({
      ...{ upstreamPort: 0, network: dns.network },
      api: { url: `srv+http://${SERVICE}` },
      config: { log: { level: 'info', access: false } },
    });
    expect(await ask(gateway)).toMatch(/^502 /);
    expect((await statusOf(gateway)).lookupFault).toBe(`querySrv ESERVFAIL ${SERVICE}`);
    expect(await gateway.metric('weir_upstream_lookup_failed')).toEqual(new Map([['{upstream="api"}', 1]]));
    dns.state = 'answers';
    await waitFor('the records are found', async () => (await ask(gateway)) === '200 a');
    expect(await gateway.counted('weir_upstream_lookup_failed')).toEqual(new Map());
    const said = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'upstream');
    expect(said.map(({ name, msg }) => [name, msg])).toEqual([
      [SERVICE, 'the name of an upstream cannot be looked up: its last addresses stay in use'],
      [SERVICE, 'the name of an upstream can be looked up again'],
    ]);
  });
});

describe('an upstream over TLS', () => {
  it('is verified for the name of its URL, whatever host its SRV records name', async () => {
    const dns = await DnsServer.start();
    const authority = new TestAuthority();
    const folder = await tempFolder();
    const caFile = join(folder, 'ca.crt');
    await writeFile(caFile, authority.certificate);
    dns.records.set('host.test', [hostAt('127.0.0.1')]);
    for (const [named, answer] of [
      ['api.test', /^200 secure/],
      ['host.test', /^502 /],
    ] as const) {
      const { certificate: cert, key } = authority.forHosts(named);
      const server = createSecureServer({ cert, key }, (_request, response) => response.end('secure'));
      await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
      onTestFinished(() => void server.close());
      dns.records.set('_https._tcp.api.test', [
        serviceAt('host.test', (server.address() as AddressInfo).port),
      ]);
      const gateway = await startGateway({
        ...{ upstreamPort: 0, network: dns.network },
        api: { url: 'srv+https://_https._tcp.api.test', tls: { ca_file: caFile } },
      });
      expect(await ask(gateway)).toMatch(answer);
    }
  });
});

describe('health checks', () => {
  const OFTEN = { every: '1s', timeout: '990ms', healthy: 1, unhealthy: 2 };

  it('take an endpoint out and back, and say why', async () => {
    const a = await Service.start('a', '127.0.0.1');
    const b = await Service.start('b', '127.0.0.1');
    const gateway = await startGateway({
      upstreamPort: 0,
      api: {
        ...{
          url: undefined,
          urls: [a, b].map(({ port }) => `http://127.0.0.1:${port}`),
          host: 'api.internal',
        },
        health: { path: '/healthz', ...OFTEN },
      },
      config: { log: { level: 'info', access: false } },
    });
    expect(await whoAnswers(gateway)).toEqual(new Set(['200 a', '200 b']));
    a.health = 503;
    const place = `127.0.0.1:${a.port}`;
    const isOut = async () =>
      (await statusOf(gateway)).endpoints.some(
        ({ address, state }) => address === place && state === 'check',
      );
    await gateway.time.advanceUntil('the endpoint is out', isOut);
    expect(await whoAnswers(gateway)).toEqual(new Set(['200 b']));
    const states = await gateway.metric('weir_upstream_endpoints');
    expect(states.get('{upstream="api",state="check"}')).toBe(1);
    expect(states.get('{upstream="api",state="used"}')).toBe(1);
    const { text } = await gateway.admin('/status');
    expect(text).toContain('it answered 503');
    const api = JSON.parse((await gateway.admin('/api/upstreams')).text);
    expect(api).toMatchObject({ upstreams: [{ name: 'api', allEndpointsOut: false, lookupFault: null }] });
    expect(api.upstreams[0].endpoints).toContainEqual({
      ...{ address: place, state: 'check', why: 'it answered 503', weight: 1 },
      ...{ connections: expect.any(Number), requestsInFlight: expect.any(Number) },
    });

    b.health = 500;
    await gateway.time.advanceUntil('all are out', async () => (await statusOf(gateway)).allEndpointsOut);
    expect(await whoAnswers(gateway)).toEqual(new Set(['200 a', '200 b']));
    a.health = 204;
    b.health = 200;
    await gateway.time.advanceUntil('all are back', async () =>
      (await statusOf(gateway)).endpoints.every(({ state }) => state === 'used'),
    );
    const said = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'upstream');
    expect(said[0]).toMatchObject({ upstream: 'api', endpoint: place, reason: 'check' });
    expect([...a.checkedHosts]).toEqual(['api.internal']);
  });

  it('ask a server of gRPC for its health', async () => {
    const health = { status: 1 };
    const port = await startHealthServer(health);
    const gateway = await startGateway({
      upstreamPort: port,
      api: { protocol: 'grpc', health: { service: 'test.v1.Echo', ...OFTEN } },
      route: { path: undefined, grpc: 'test.v1.Echo/*' },
    });
    const [first] = (await statusOf(gateway)).endpoints;
    expect(first?.state).toBe('used');
    health.status = 2;
    await gateway.time.advanceUntil(
      'the endpoint is out',
      async () => (await statusOf(gateway)).allEndpointsOut,
    );
    expect((await statusOf(gateway)).endpoints[0]?.why).toBe('it is NOT_SERVING');
    health.status = 1;
    await gateway.time.advanceUntil(
      'the endpoint is back',
      async () => !(await statusOf(gateway)).allEndpointsOut,
    );
    expect(health).toMatchObject({ service: 'test.v1.Echo' });
  });
});
