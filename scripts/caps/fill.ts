import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from '../../bench/load/connection.ts';
import { sendEach } from '../../bench/load/send-each.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { ThreadHolds } from '../soak/probe.ts';
import type { ProbedGateway } from '../soak/probed-gateway.ts';
import type { Closable, Filling, Setting, Target } from './fillings.ts';
import { setStage } from './stage.ts';

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
  const stage = await setStage(target => ({
    config: { ...configOf(target), ...setting.config?.(target) },
    limits: { global: 'off', ...setting.limits },
  }));
  const { gateway, target, opened } = stage;
  try {
    // What only the first ones cost, such as compiled code.
    for (const [filling] of fillings) opened.push(...(await openAll(gateway, target, filling, 20)));
    await sendEach(target.port, repeated(requestText('/small', {}), warming), 20);
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
    await stage.close();
  }
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

/** A gateway whose caps one address can fill. */
function configOf({ services: { http1Port, http2Port } }: Target) {
  const [http1, http2] = [`http://127.0.0.1:${http1Port}`, `http://127.0.0.1:${http2Port}`];
  const timeouts = { first_byte: '1h', idle: '1h' };
  const all = { timeouts, max_requests: 20_000, max_requests_per_caller: '100%' };
  const allCalls = { max_grpc_calls: 20_000, max_grpc_calls_per_caller: '100%' };
  return {
    workers: 1,
    upstreams: {
      api: { ...all, url: http1, max_websockets: 20_000, max_websockets_per_caller: '100%' },
      h2: { ...all, url: http2, protocol: 'h2' },
      calls: { ...allCalls, url: http2, protocol: 'grpc' },
    },
    routes: [
      { path: '/**', upstream: 'api', authentication: 'none', min_body_rate: 'off' },
      { path: '/socket/**', upstream: 'api', authentication: 'none', websocket: true },
      { path: '/own', respond: { status: 200, body: '-'.repeat(16_000) } },
      { path: '/h2/**', upstream: 'h2', authentication: 'none', min_body_rate: 'off' },
      { grpc: 'caps.Stubborn/*', upstream: 'calls', authentication: 'none', grpc_web: true },
    ],
    timeouts: {
      keep_alive: '1h',
      client_header: '1h',
      client_body: '1h',
      client_read: '1h',
      tls_handshake: '1h',
    },
    caps: { connections_per_address: 20_000, requests_per_address: 10_000, event_loop_delay: 'off' },
    min_read_rate: 'off',
    log: { access: false },
  };
}
