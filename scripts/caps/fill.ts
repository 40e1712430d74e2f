import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from '../../bench/load/connection.ts';
import { sendEach } from '../../bench/load/send-each.ts';
import { makeCertificate } from '../../bench/world/certificate.ts';
import { freePort } from '../../bench/world/part.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { ThreadHolds } from '../soak/probe.ts';
import { ProbedGateway } from '../soak/probed-gateway.ts';
import type { Filling, Target } from './fillings.ts';
import { type Stubborn, startServices } from './services.ts';

/** What filling a cap took. */
export interface Filled {
  readonly filling: Filling;
  readonly count: number;
  /** Bytes: resident memory of the gateway before, at most while it was filled, and then after a collection. */
  readonly before: number;
  readonly highest: number;
  readonly after: number;
  /** What of it is JavaScript objects, which the heap of a thread holds. */
  readonly objects: number;
}

export interface FillOptions {
  /** How many; left out: as many as the filling says. */
  readonly count?: number;
  /** Keys of gateway.yaml besides those that let one address fill a cap. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly workers?: number;
  readonly flags?: readonly string[];
}

/** Fills a cap of a gateway that was started for it. */
export async function fill(filling: Filling, options: FillOptions = {}): Promise<Filled> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-caps-'));
  const services = await startServices();
  const [port, tlsPort] = [await freePort(), await freePort()];
  const config = await configOf(folder, { port, tlsPort, services }, options);
  const gateway = await ProbedGateway.start({ folder, config, flags: options.flags ?? [] });
  try {
    return await fillOne(gateway, filling, { port, tlsPort, services }, options.count ?? filling.measured);
  } finally {
    await gateway.stop();
    services.close();
    rmSync(folder, { recursive: true });
  }
}

async function fillOne(
  gateway: ProbedGateway,
  filling: Filling,
  target: Target,
  count: number,
): Promise<Filled> {
  const { gauge, each, open } = filling;
  const there = async () => (await gateway.sums([gauge]))[gauge] ?? 0;
  // What only the first ones cost, such as compiled code.
  const first = await openAll(Math.ceil(20 / each), () => open(target));
  await waitFor('the first are there', async () => (await there()) >= first.length * each);
  await warmUp(target);
  const objectsBefore = objectsOf(await gateway.holds());
  const before = gateway.resident;
  const all = await openAll(Math.ceil(count / each), () => open(target));
  await waitFor(`${count} are there`, async () => (await there()) >= first.length * each + count);
  const highest = await steady(gateway);
  const objects = objectsOf(await gateway.holds()) - objectsBefore;
  const after = gateway.resident;
  for (const one of [...first, ...all]) one.destroy();
  return { filling, count, before, highest: Math.max(highest, after), after, objects };
}

function objectsOf(threads: readonly ThreadHolds[]): number {
  return threads.reduce((sum, { heapUsed }) => sum + heapUsed, 0);
}

/** Has requests make as much young garbage as there may be. */
async function warmUp({ port }: Target): Promise<void> {
  await sendEach(port, repeated(requestText('/small', {}), 10_000), 20);
}

function* repeated(request: string, times: number): Generator<string> {
  for (let i = 0; i < times; i++) yield request;
}

async function openAll<One>(count: number, open: () => Promise<One>): Promise<One[]> {
  const all: One[] = [];
  while (all.length < count)
    all.push(...(await Promise.all(Array.from({ length: Math.min(50, count - all.length) }, open))));
  return all;
}

/** Waits until its memory stays as it is. Returns the most that it was. */
async function steady(gateway: ProbedGateway): Promise<number> {
  let highest = 0;
  for (let quiet = 0; quiet < 5; ) {
    const before = gateway.resident;
    await sleep(200);
    const now = gateway.resident;
    highest = Math.max(highest, now);
    quiet = Math.abs(now - before) < 2 ** 19 ? quiet + 1 : 0;
  }
  return highest;
}

async function configOf(folder: string, { port, tlsPort, services }: Target, options: FillOptions) {
  const { certificateFile, keyFile } = await makeCertificate(folder);
  const url = (to: keyof Pick<Stubborn, 'http1Port' | 'http2Port'>) => `http://127.0.0.1:${services[to]}`;
  const timeouts = { first_byte: '1h', idle: '1h' };
  const all = { timeouts, max_requests: 20_000, max_requests_per_caller: '100%' };
  const allCalls = { max_grpc_calls: 20_000, max_grpc_calls_per_caller: '100%' };
  await writeFile(join(folder, 'limits.yaml'), '{ global: off, invalid_requests: off }');
  return {
    listen: {
      http: { address: `127.0.0.1:${port}`, h2c: true },
      grpc: {
        address: `127.0.0.1:${tlsPort}`,
        tls: { certificates: [{ certificate_file: certificateFile, key_file: keyFile }] },
      },
    },
    workers: options.workers ?? 1,
    upstreams: {
      api: { ...all, url: url('http1Port'), max_websockets: 20_000, max_websockets_per_caller: '100%' },
      h2: { ...all, url: url('http2Port'), protocol: 'h2' },
      calls: { ...allCalls, url: url('http2Port'), protocol: 'grpc' },
    },
    routes: [
      { path: '/**', upstream: 'api', authentication: 'none', min_body_rate: 'off' },
      { path: '/socket/**', upstream: 'api', authentication: 'none', websocket: true },
      { path: '/h2/**', upstream: 'h2', authentication: 'none', min_body_rate: 'off' },
      { grpc: 'caps.Stubborn/*', upstream: 'calls', authentication: 'none', grpc_web: true },
    ],
    limits: 'limits.yaml',
    timeouts: {
      keep_alive: '1h',
      client_header: '1h',
      client_body: '1h',
      client_read: '1h',
      tls_handshake: '1h',
    },
    caps: { connections_per_address: 20_000, requests_per_address: 10_000, event_loop_delay: 'off' },
    shutdown: { drain: '0s' },
    log: { access: false },
    ...options.config,
  };
}
