import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from '../../bench/load/connection.ts';
import { sendEach } from '../../bench/load/send-each.ts';
import { makeCertificate } from '../../bench/world/certificate.ts';
import { freePort } from '../../bench/world/part.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import {
  type ScriptedProvider,
  scripts,
  startScriptedProvider,
} from '../../test/support/scripted-provider.ts';
import { issuerKey } from '../../test/support/token-issuer.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { ThreadHolds } from '../soak/probe.ts';
import { ProbedGateway } from '../soak/probed-gateway.ts';
import type { Closable, Filling, Setting, Target } from './fillings.ts';
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

const KEY = issuerKey('ES256', 'caps');
const WARMING = 10_000;

/** Fills a cap of a gateway that was started for it. */
export async function fill(filling: Filling): Promise<Filled> {
  const [filled] = await fillInTurn(filling, [[filling, filling.measured]], WARMING);
  if (filled === undefined) throw new Error('nothing was filled');
  return filled;
}

/**
 * Fills caps of one gateway one after another, each with so many, and keeps what was opened.
 *
 * @param setting says the keys of its files
 * @param warming how many requests make as much young garbage as there may be
 */
export async function fillInTurn(
  setting: Setting,
  fillings: readonly (readonly [Filling, number])[],
  warming: number,
): Promise<readonly Filled[]> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-caps-'));
  const services = await startServices();
  const [port, tlsPort] = [await freePort(), await freePort()];
  const provider = await startProvider();
  const target = { port, tlsPort, services, issuer: provider.issuer, key: KEY };
  const gateway = await ProbedGateway.start({ folder, config: await configOf(folder, target, setting) });
  const opened: Closable[] = [];
  try {
    // What only the first ones cost, such as compiled code.
    for (const [filling] of fillings) opened.push(...(await openAll(gateway, target, filling, 20)));
    await sendEach(port, repeated(requestText('/small', {}), warming), 20);
    const all: Filled[] = [];
    for (const [filling, count] of fillings) {
      const objectsBefore = objectsOf(await gateway.holds());
      const before = gateway.resident;
      opened.push(...(await openAll(gateway, target, filling, count)));
      const highest = await steady(gateway);
      const objects = objectsOf(await gateway.holds()) - objectsBefore;
      const after = gateway.resident;
      all.push({ filling, count, before, highest: Math.max(highest, after), after, objects });
    }
    return all;
  } finally {
    for (const one of opened) one.destroy();
    await gateway.stop();
    services.close();
    await provider.close();
    rmSync(folder, { recursive: true });
  }
}

async function startProvider(): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider();
  provider.keys = scripts.json(200, { keys: [KEY.jwk] });
  return provider;
}

function objectsOf(threads: readonly ThreadHolds[]): number {
  return threads.reduce((sum, { heapUsed }) => sum + heapUsed, 0);
}

function* repeated(request: string, times: number): Generator<string> {
  for (let i = 0; i < times; i++) yield request;
}

/** Opens connections that hold so many, and waits until the gateway has them. */
async function openAll(
  gateway: ProbedGateway,
  target: Target,
  { gauge, each, open }: Filling,
  count: number,
): Promise<readonly Closable[]> {
  const there = async () => (await gateway.sums([gauge]))[gauge] ?? 0;
  const before = await there();
  const [connections, all] = [Math.ceil(count / each), [] as Closable[]];
  while (all.length < connections) {
    const next = Array.from({ length: Math.min(50, connections - all.length) }, () => open(target));
    all.push(...(await Promise.all(next)));
  }
  await waitFor(`${count} more are there`, async () => (await there()) >= before + connections * each);
  return all;
}

/** Waits until its memory stays as it is, at most ten seconds. Returns the most that it was. */
async function steady(gateway: ProbedGateway): Promise<number> {
  let highest = 0;
  for (let quiet = 0, looks = 0; quiet < 5 && looks < 50; looks++) {
    const before = gateway.resident;
    await sleep(200);
    const now = gateway.resident;
    highest = Math.max(highest, now);
    quiet = Math.abs(now - before) < 2 ** 19 ? quiet + 1 : 0;
  }
  return highest;
}

async function configOf(folder: string, target: Target, { limits, config }: Setting) {
  const { port, tlsPort, services } = target;
  const { certificateFile, keyFile } = await makeCertificate(folder);
  const url = (to: keyof Pick<Stubborn, 'http1Port' | 'http2Port'>) => `http://127.0.0.1:${services[to]}`;
  const timeouts = { first_byte: '1h', idle: '1h' };
  const all = { timeouts, max_requests: 20_000, max_requests_per_caller: '100%' };
  const allCalls = { max_grpc_calls: 20_000, max_grpc_calls_per_caller: '100%' };
  await writeFile(join(folder, 'client-secret'), GATEWAY_CLIENT.secret);
  const usual = { global: 'off', invalid_requests: 'off', failed_verifications: 'off' };
  // JSON is YAML.
  await writeFile(join(folder, 'limits.yaml'), JSON.stringify({ ...usual, ...limits }));
  return {
    listen: {
      http: { address: `127.0.0.1:${port}`, h2c: true },
      grpc: {
        address: `127.0.0.1:${tlsPort}`,
        tls: { certificates: [{ certificate_file: certificateFile, key_file: keyFile }] },
      },
    },
    workers: 1,
    upstreams: {
      api: { ...all, url: url('http1Port'), max_websockets: 20_000, max_websockets_per_caller: '100%' },
      h2: { ...all, url: url('http2Port'), protocol: 'h2' },
      calls: { ...allCalls, url: url('http2Port'), protocol: 'grpc' },
    },
    routes: [
      { path: '/**', upstream: 'api', authentication: 'none', min_body_rate: 'off' },
      { path: '/socket/**', upstream: 'api', authentication: 'none', websocket: true },
      { path: '/own', respond: { status: 200, body: '-'.repeat(16_000) } },
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
    min_read_rate: 'off',
    shutdown: { drain: '0s' },
    log: { access: false },
    ...config?.(target),
  };
}
