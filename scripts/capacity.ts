// Measures what a request, a connection and a counter take here, and writes src/cli/capacity-figures.ts and the table of
// docs/capacity.md: `npm run capacity`. Needs h2load, openssl and Redis (bench/README.md), and Linux.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bench } from '../bench/bench.ts';
import { Connection, requestsWith, requestText } from '../bench/load/connection.ts';
import { GRPC_HEADERS, GRPC_SERVICE } from '../bench/load/grpc.ts';
import { sendCount } from '../bench/load/h2load.ts';
import { openTls } from '../bench/load/handshakes.ts';
import { sendEach } from '../bench/load/send-each.ts';
import { openWebSocket } from '../bench/load/web-sockets.ts';
import { figureOf } from '../bench/measure/figures.ts';
import { cpuMicroseconds, residentMebibytes } from '../bench/measure/processes.ts';
import { FORWARDING, type Job, PIPELINE } from '../bench/peers/job.ts';
import { weir } from '../bench/peers/weir.ts';
import { planOf } from '../bench/scenarios/scenario.ts';
import { makeCertificate } from '../bench/world/certificate.ts';
import { startIssuer } from '../bench/world/issuer.ts';
import { freePort, startNode } from '../bench/world/part.ts';
import { startRedis } from '../bench/world/redis.ts';
import type { CapacityFigures } from '../src/cli/capacity-figures.ts';
import { CAP_COSTS } from '../src/config/index.ts';

const BENCH = join(import.meta.dirname, '../bench');
const FIGURES_FILE = join(import.meta.dirname, '../src/cli/capacity-figures.ts');
const DOCUMENT = join(import.meta.dirname, '../docs/capacity.md');

/** Requests of one look at the clock, how many looks warm a gateway up, and how many count. */
const REQUESTS = 10_000;
const WARM_UPS = 5;
const LOOKS = 5;
/** Idle connections of each kind, and callers who are counted. */
const IDLE = 2_000;
const CALLERS = 50_000;
const SETTLE_MS = 3_000;

const directory = await mkdtemp(join(tmpdir(), 'weir-capacity-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const issuer = await startIssuer();
const redis = await startRedis();
if (redis === null) throw new Error('Redis is not installed');
const part = async (name: string) => startNode(join(BENCH, `servers/${name}.ts`), await freePort(), {});
const [upstream, grpcUpstream, webSocketUpstream] = [
  await part('upstream'),
  await part('grpc-upstream'),
  await part('websocket-upstream'),
];
const bench = new Bench(
  { mode: 'quick', rounds: LOOKS, reloads: 0, seconds: 1, peers: null, before: null },
  {
    ...{ upstream, grpcUpstream, webSocketUpstream, issuer, directory, redisUrl: redis.url },
    certificate: await makeCertificate(directory),
  },
);

const withWeir = (job: Job, changes: Partial<Job['weir']>): Job => ({
  ...job,
  weir: { ...job.weir, ...changes },
});
const plain = await requestCost('plain', FORWARDING, null);
const tokens = await requestCost('token and two limits', PIPELINE, null);
const logged = await requestCost('with the log', withWeir(PIPELINE, { accessLog: true }), null);
const overTls = await requestCost('over TLS', { ...PIPELINE, clients: 'tls' }, null);
const overHttp2 = await requestCost('over HTTP/2', { ...PIPELINE, clients: 'h2c' }, 8);
const call = await requestCost('gRPC', { ...PIPELINE, clients: 'grpc' }, 8);
const shared = await requestCost('with Redis', withWeir(PIPELINE, { redis: redis.url }), null);
const figures: CapacityFigures = {
  requestMicroseconds: {
    plain: plain.gateway,
    tokenAndLimits: Math.max(0, tokens.gateway - plain.gateway),
    log: Math.max(0, logged.gateway - tokens.gateway),
    tls: Math.max(0, overTls.gateway - tokens.gateway),
    http2: overHttp2.gateway - tokens.gateway,
    grpc: call.gateway - tokens.gateway,
    redis: Math.max(0, shared.gateway - tokens.gateway),
    ofRedis: shared.ofRedis,
  },
  connectionBytes: {
    plain: await idleBytes('connections', FORWARDING, openPlain),
    tls: await idleBytes('connections over TLS', { ...FORWARDING, clients: 'tls' }, port =>
      openTls(port, null),
    ),
    webSocket: await idleBytes('WebSockets', { ...FORWARDING, clients: 'websocket' }, port =>
      openWebSocket(port, planOf(bench)),
    ),
  },
  redisCounterBytes: await redisBytesOfCaller({}),
  redisMainBytes: await redisBytesOfCaller({ byMainValue: true }),
};
issuer.close();
await Promise.all([upstream.stop(), grpcUpstream.stop(), webSocketUpstream.stop(), redis.stop()]);
await write(rounded(figures));
process.exit();

/** What a request takes of the gateway and of Redis, in microseconds of processor time: the median of some looks. */
async function requestCost(name: string, job: Job, streams: number | null) {
  bench.progress(name);
  const { pid, port } = await bench.start(weir, withWeir(job, { sheds: false }));
  const isCall = job.clients === 'grpc';
  const plan = planOf(bench, {
    ...{ connections: streams === null ? 64 : 8, secure: job.clients === 'tls' },
    ...(isCall ? { method: 'POST' as const, path: `/${GRPC_SERVICE}/Unary`, bodyBytes: 100 } : {}),
  });
  const headers = isCall ? { ...plan.headers, ...GRPC_HEADERS } : plan.headers;
  await sleep(1_000);
  const looks: { gateway: number; ofRedis: number }[] = [];
  for (let look = 0; look < WARM_UPS + LOOKS; look++) {
    const [ours, theirs] = [cpuMicroseconds(pid), cpuMicroseconds(redis?.pid ?? 0)];
    const { requests, failures } = await sendCount({ ...plan, headers }, port, REQUESTS, streams);
    if (failures > 0) throw new Error(`${name}: ${failures} of ${requests} requests failed`);
    looks.push({
      gateway: (cpuMicroseconds(pid) - ours) / requests,
      ofRedis: (cpuMicroseconds(redis?.pid ?? 0) - theirs) / requests,
    });
  }
  await bench.stopAll();
  const counted = looks.slice(WARM_UPS);
  return {
    gateway: figureOf(counted.map(({ gateway }) => gateway)).median,
    ofRedis: figureOf(counted.map(({ ofRedis }) => ofRedis)).median,
  };
}

/** What an idle connection takes of the gateway's memory, its connection to the service included. */
async function idleBytes(name: string, job: Job, open: (port: number) => Promise<unknown>): Promise<number> {
  bench.progress(name);
  const { pid, port } = await bench.start(weir, withWeir(job, { sheds: false }));
  const openMany = async (count: number) => {
    for (let opened = 0; opened < count; opened += 50)
      await Promise.all(Array.from({ length: 50 }, () => open(port)));
  };
  await openMany(200);
  await sleep(SETTLE_MS);
  const before = residentMebibytes(pid);
  await openMany(IDLE);
  await sleep(SETTLE_MS);
  const bytes = ((residentMebibytes(pid) - before) * 2 ** 20) / IDLE;
  await bench.stopAll();
  return bytes;
}

/** What a caller under one limit takes of Redis. */
async function redisBytesOfCaller(changes: Partial<Job['weir']>): Promise<number> {
  bench.progress('counters in Redis');
  redisCommand('flushall');
  const job = { ...FORWARDING, limits: 'wide', forwardedAddresses: true } as const;
  const { port } = await bench.start(
    weir,
    withWeir(job, { ...changes, redis: redis?.url ?? null, sheds: false }),
  );
  await sendCallers(port, 0, 100);
  const used = usedByRedis();
  await sendCallers(port, 100, CALLERS);
  const bytes = (usedByRedis() - used) / CALLERS;
  await bench.stopAll();
  return bytes;
}

async function sendCallers(port: number, from: number, count: number): Promise<void> {
  const addresses = Array.from({ length: count }, (_, at) => {
    const number = from + at;
    return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
  });
  const statuses = await sendEach(port, requestsWith('/v1/things/7', 'X-Forwarded-For', addresses), 64);
  if (statuses.get(200) !== count) throw new Error('not all callers were admitted');
}

function redisCommand(...words: string[]): string {
  return execFileSync('redis-cli', ['-p', `${redis?.port}`, ...words], { encoding: 'utf8' });
}

function usedByRedis(): number {
  return Number(/^used_memory:(\d+)/m.exec(redisCommand('info', 'memory'))?.[1]);
}

function rounded(all: CapacityFigures): CapacityFigures {
  const of = <Part extends object>(part: Part): Part =>
    Object.fromEntries(
      Object.entries(part).map(([key, value]) => [
        key,
        value < 100 ? Math.round(value * 10) / 10 : Math.round(value),
      ]),
    ) as Part;
  return {
    requestMicroseconds: of(all.requestMicroseconds),
    connectionBytes: of(all.connectionBytes),
    redisCounterBytes: Math.round(all.redisCounterBytes),
    redisMainBytes: Math.round(all.redisMainBytes),
  };
}

/** Connects and asks once, so that the connection has what one that was used keeps. */
async function openPlain(port: number): Promise<void> {
  const connection = await Connection.open(port);
  await connection.ask(requestText('/v1/things/7', {}));
}

/** Replaces the figures in the sources and the table of the document. */
async function write(all: CapacityFigures): Promise<void> {
  const source = await readFile(FIGURES_FILE, 'utf8');
  const [declarations = ''] = source.split('export const FIGURES');
  await writeFile(
    FIGURES_FILE,
    `${declarations}export const FIGURES: CapacityFigures = ${JSON.stringify(all, null, 2)};\n`,
  );
  execFileSync('npx', ['biome', 'check', '--write', FIGURES_FILE]);
  const text = await readFile(DOCUMENT, 'utf8');
  const table = /(?<=<!-- capacity: npm run capacity -->\n).*?(?=<!-- end -->)/s;
  await writeFile(DOCUMENT, text.replace(table, `\n${tableOf(all)}\n`));
}

function tableOf({
  requestMicroseconds: cost,
  connectionBytes: held,
  redisCounterBytes: inRedis,
  redisMainBytes: withMain,
}: CapacityFigures): string {
  const { plain, tokenAndLimits, log, tls, http2, grpc, redis: toRedis, ofRedis } = cost;
  const usual = plain + tokenAndLimits;
  const row = (name: string, microseconds: number) =>
    `| ${name} | ${microseconds.toFixed(1)} | ${(Math.round(1e4 / microseconds) * 100).toLocaleString('en')} |`;
  const kib = (bytes: number) => `${Math.round(bytes / 1_024)} KiB`;
  return [
    `Measured on ${cpus()[0]?.model ?? 'an unknown processor'} with Node.js ${process.versions.node}, at a load of ${loadavg()[0]?.toFixed(1)} on ${cpus().length} processors.`,
    '',
    '| A request | CPU, µs | a core |',
    '|---|--:|--:|',
    row('plain: no token, no limit, no log', plain),
    row('with a known token and two limits', usual),
    row('the same with the access log', usual + log),
    row('over TLS', usual + tls),
    row('over HTTP/2', usual + http2),
    row('a call of gRPC', usual + grpc),
    row('with limits in Redis', usual + toRedis),
    row('Redis itself', ofRedis),
    '',
    '| One | takes | descriptors |',
    '|---|--:|--:|',
    `| idle connection | ${kib(held.plain)} | 1 |`,
    `| the same over TLS | ${kib(held.tls)} | 1 |`,
    `| idle WebSocket, with its connection to the service | ${kib(held.webSocket)} | 2 |`,
    `| counter in the memory of a gateway, with [all that follows \`caps.limit_keys\`](memory.md) | ${CAP_COSTS.limitKeys.bytes(1)} B | |`,
    `| counter in Redis, of a caller under one limit | ${Math.round(inRedis)} B | |`,
    `| caller in Redis in a bucket with \`main\`, with one main value | ${Math.round(withMain)} B | |`,
    '',
  ].join('\n');
}
