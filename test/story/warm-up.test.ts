import type { Server, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Network, thisMachine } from '../../src/core/index.ts';
import { frailHost } from '../support/frail-host.ts';
import { type LocalGateway, startGateway, withoutWorkers } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisGatewayProcess } from '../support/redis-gateway.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { AUTHORITY, writeIdentity } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const LOG = { level: 'debug' };

// A warm-up of 10 ms is over before its first request, as one is on a machine that is busy: what it plays even so is certain.
const CALLS = { calls: { url: 'http://127.0.0.1:9', protocol: 'grpc' } };

/** @param log what the gateway has written by now */
async function warmedUp(log: () => string, count = 1): Promise<Record<string, unknown>[]> {
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes('"type":"warm-up"'));
  await waitFor('it has warmed up', () => lines().length === count);
  return lines().map(line => JSON.parse(line));
}

/** That nothing of a warm-up was logged, counted or held. */
async function expectNoTrace(gateway: TestGateway, log: string): Promise<void> {
  expect(log).not.toContain('"type":"access"');
  expect(log).not.toContain('played');
  const { text } = await gateway.admin('/metrics');
  expect(text).not.toContain('played');
  const moved = [
    ...text.matchAll(
      /^(weir_(?:requests|limit_decisions|upstream_requests|errors|sign_ins|tokens)_total\S*) (\d+)$/gm,
    ),
  ];
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.filter(([, , value]) => value !== '0')).toEqual([]);
  const { buckets, upstreams, callers } = JSON.parse((await gateway.admin('/status.json')).text);
  expect(JSON.stringify({ buckets, upstreams, callers })).not.toContain('played');
}

/** A network that treats the service of a warm-up in some way: that alone asks for a port by number. */
function withPlayedService(treat: (server: Server, listen: () => Server) => Server): Network {
  const { network } = thisMachine;
  return {
    ...network,
    createServer: (options, onSocket) => {
      const server = network.createServer(options, onSocket);
      const listen = server.listen.bind(server);
      server.listen = (...args: unknown[]) => {
        const begin = () => Reflect.apply(listen, server, args);
        return args[0] === 0 ? treat(server, begin) : begin();
      };
      return server;
    },
  };
}

const withoutPlayedService = () =>
  withPlayedService(server => {
    server.emit('error', new Error('no port is free'));
    return server;
  });

/** A network on which the service of a warm-up says nothing. */
const withSilentService = () =>
  withPlayedService((server, listen) => {
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      socket.on('error', () => {}).resume();
    });
    return listen();
  });

test('a gateway plays requests of each kind to itself before it is ready, with a token, and nothing of them shows', async () => {
  withoutWorkers();
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const settings = await identityConfig(
    { issuer: issuer.url, config: { warm_up: '10ms', log: LOG } },
    upstream,
  );
  const upstreams = { api: { url: `http://127.0.0.1:${upstream.port}` }, ...CALLS };
  const config = { ...settings.config, upstreams, listen: H2C };
  // So many turns of the event loop are a second: however busy the machine, its clients are served in time.
  const clock = new FrozenClock(Date.now());
  let isOver = false;
  const starting = startGateway({ ...settings, config, clock }).finally(() => {
    isOver = true;
  });
  await clock.advanceUntil('it serves', () => isOver, 1);
  const gateway = await starting;
  const log = () => gateway.logLines.join('');
  const [line] = await warmedUp(log);
  for (const kind of ['http1', 'http2', 'grpc']) expect(line?.[kind]).toBeGreaterThan(0);
  await expectNoTrace(gateway, log());
  expect(upstream.requests).toEqual([]);
  // Two gateways were played: had they asked, the provider would know of three.
  const { tokenRequests, introspections, discoveries, keyFetches } = issuer.provider;
  expect([...tokenRequests, ...introspections]).toEqual([]);
  expect(Math.max(discoveries, keyFetches)).toBeLessThan(3);
});

dear(
  'each worker warms up, over TLS with the certificate of the listener, and so does one that replaces another',
  async () => {
    const upstream = await startUpstream();
    const { host, kill } = await frailHost();
    const certificates = [await writeIdentity(await tempFolder(), 'a', AUTHORITY.forHosts('localhost'))];
    const listen = { http: { address: '127.0.0.1:0', tls: { certificates } }, admin: '127.0.0.1:0' };
    const config = { workers: 2, warm_up: '10ms', log: LOG, listen };
    const gateway = await startGateway({ upstreamPort: upstream.port, config, host });
    const log = () => gateway.logLines.join('');
    const expectPlayed = async (count: number) => {
      for (const { http1, http2 } of await warmedUp(log, count))
        expect(Number(http1) + Number(http2)).toBeGreaterThan(0);
      await expectNoTrace(gateway, log());
    };
    await expectPlayed(2);
    kill(1, 'exits');
    await expectPlayed(3);
    expect(upstream.requests).toEqual([]);
  },
);

test('Redis is asked nothing by a warm-up', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const monitor = await monitorRedis(redis.port);
  const gateway = await startRedisGatewayProcess({
    store: { redis: `redis://127.0.0.1:${redis.port}` },
    limits: { global: { address: '9/1m' } },
    config: { warm_up: '10ms', log: LOG },
  });
  await warmedUp(() => gateway.output);
  await gateway.ask(head('GET /a'));
  const isDecision = (line: string) => line.startsWith('"evalsha"') && line.includes(':window:');
  const decisions = () => monitor.commands().filter(isDecision);
  await waitFor('the decision about a client is there', () => decisions().length > 0);
  expect(decisions()).toHaveLength(1);
});

test('a warm-up that fails is one line of the log, and the gateway serves', async () => {
  withoutWorkers();
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { warm_up: '10ms', log: { level: 'info', access: false } },
    network: withoutPlayedService(),
  });
  const lines = gateway.logLines.filter(line => line.includes('"type":"warm-up"'));
  expect(lines.map(line => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 'warn',
      msg: 'the gateway could not warm up',
      cause: 'no port is free',
    }),
  ]);
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
});

test('a warm-up whose clients are never answered ends with its budget, not with the timeouts of what it plays', async () => {
  withoutWorkers();
  const upstream = await startUpstream();
  const clock = new FrozenClock();
  const began = clock.monotonicMs();
  let gateway: LocalGateway | null = null;
  const starting = startGateway({
    upstreamPort: upstream.port,
    config: { warm_up: '500ms', log: { level: 'info', access: false } },
    network: withSilentService(),
    clock,
  }).then(started => {
    gateway = started;
    return started;
  });
  await clock.advanceUntil('it serves', () => gateway !== null, 100);
  const { logLines } = await starting;
  expect(clock.monotonicMs() - began).toBeLessThan(30_000);
  const lines = logLines.filter(line => line.includes('"type":"warm-up"')).map(line => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ level: 'warn', cause: 'no played client of http1 was served within 20s' }),
  ]);
});

test('a gateway without warm_up does not', async () => {
  const upstream = await startUpstream();
  const { logLines } = await startGateway({ upstreamPort: upstream.port, config: { log: LOG } });
  expect(logLines.join('')).not.toContain('warm-up');
});
