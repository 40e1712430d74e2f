// Processor time of the gateway for a request whose limits are counted in its memory, and in a Redis on this machine: see README.md.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuMicroseconds } from './cpu.ts';
import { findLoadGenerator } from './load.ts';
import { freePort, type Part, startPart } from './part.ts';
import { startUpstream } from './parts.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '64' },
  },
});
const connections = Number(flags.connections);
const load = findLoadGenerator();
/** A request draws on three limits and is never refused. */
const LIMITS = {
  global: { address: '65535/1s' },
  buckets: { things: { main: 'id', address: '65535/1s', resource: '65535/1s' } },
  routes: { '/{id}': 'things' },
};

const directory = await mkdtemp(join(tmpdir(), 'weir-bench-'));
const redisPort = await freePort();
const redis = spawn('redis-server', ['--port', `${redisPort}`, '--save', ''], { stdio: 'ignore' });
const parts: Part[] = [];
try {
  const upstream = await startUpstream();
  parts.push(upstream);
  const gateways = {
    memory: await startGateway(upstream.port, 'memory', 'memory'),
    redis: await startGateway(upstream.port, 'redis', { redis: `redis://127.0.0.1:${redisPort}` }),
  };
  parts.push(...Object.values(gateways));
  for (const part of Object.values(gateways)) await sample(part, 3);
  for (let round = 1; round <= Number(flags.rounds); round++) {
    const figures = [];
    for (const [name, part] of Object.entries(gateways)) {
      const { cpu, rate } = await sample(part, Number(flags.seconds));
      figures.push(`${name} ${cpu.toFixed(1)} us/request, ${rate.toFixed(0)} requests/s`);
    }
    console.log(figures.join('; '));
  }
} finally {
  await Promise.all(parts.map(part => part.stop()));
  redis.kill();
  await rm(directory, { recursive: true });
}

async function startGateway(upstreamPort: number, name: string, store: unknown): Promise<Part> {
  const port = await freePort();
  const config = {
    listen: { http: `127.0.0.1:${port}`, admin: 'off' },
    upstreams: { api: { url: `http://127.0.0.1:${upstreamPort}` } },
    routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
    limits: 'limits.yaml',
    store,
    log: { access: false },
  };
  const folder = join(directory, name);
  await mkdir(folder);
  // JSON is YAML.
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
  await writeFile(join(folder, 'limits.yaml'), JSON.stringify(LIMITS));
  const main = join(import.meta.dirname, '../src/main.ts');
  return startPart([main, 'serve', '--config', join(folder, 'gateway.yaml')], port);
}

async function sample(part: Part, seconds: number): Promise<{ cpu: number; rate: number }> {
  const before = cpuMicroseconds(part.pid);
  const { requests, failures } = await load.run({
    url: `http://127.0.0.1:${part.port}/thing`,
    connections,
    seconds,
  });
  if (failures > 0) throw new Error(`${failures} of ${requests} requests failed`);
  return { cpu: (cpuMicroseconds(part.pid) - before) / requests, rate: requests / seconds };
}
