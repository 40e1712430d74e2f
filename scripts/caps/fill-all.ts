import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CAP_COSTS, roomForCaps } from '../../src/config/index.ts';
import { MemoryGroup } from '../../test/support/memory-group.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { ProbedGateway } from '../soak/probed-gateway.ts';
import { type Closable, CONNECTIONS_AND_REQUESTS, type Filling, type Target } from './fillings.ts';
import type { HonestReport } from './honest.ts';
import { setStage } from './stage.ts';
import { TABLES } from './tables.ts';
import { withProvider } from './with-provider.ts';

const MIB = 2 ** 20;
const LIMIT_BYTES = 512 * MIB;
const WORKERS = 2;
/** The share of the limit that docs/memory.md has V8 told. */
const HEAP_MIB = Math.floor((LIMIT_BYTES / MIB) * 0.6);
const HOLD_MS = 30_000;
/** A client who reads waits no longer for 99 of 100 answers, milliseconds. */
const MAX_P99_MS = 100;

/** The hostile clients: which part of their cap each kind takes, in this order. What does not fit any more is refused. */
const HOSTILE: readonly (readonly [what: string, cap: keyof typeof CAP_COSTS, part: number])[] = [
  ['any comes from a new address, which is counted', 'limitKeys', 1],
  ['any sends a new token', 'tokens', 1],
  ['WebSocket does not read messages', 'webSockets', 1],
  ['HTTP/1.1 waits for a response', 'requests', 0.4],
  ['HTTP/1.1 does not read a response', 'requests', 0.1],
  ['HTTP/2 does not read a response', 'requests', 0.2],
  ['HTTP/1.1 uploads to a service that does not read', 'requests', 0.1],
  ['HTTP/1.1 stops within the body of a sign-in', 'requests', 0.2],
  ['HTTP/2 has 100 answers of 16 KB of the gateway itself waiting', 'connections', 0.01],
  ['HTTP/2 sends 200,000 HEAD and reads nothing', 'connections', 0.01],
  ['HTTP/1.1 stops within a head of 16 KiB', 'connections', 0.1],
  ['HTTP/2, TLS rests after the handshake', 'connections', 1],
];

/**
 * Fills every cap of a gateway with default caps at once, in a control group of 512 MiB with two workers, while a few clients read what
 * they ask for. Prints what came of it. Returns whether all is well.
 */
export async function fillAll(): Promise<boolean> {
  const group = newGroup();
  const stage = await setStage(filesOf, {
    flags: [`--max-old-space-size=${HEAP_MIB}`],
    before: group?.joinCommand,
  });
  const { folder, target, gateway, opened } = stage;
  const honest = new Worker(join(import.meta.dirname, 'honest.ts'), { workerData: { port: target.port } });
  const measured = () => group?.heldBytes ?? gateway.resident;
  let highest = 0;
  const sampling = setInterval(() => {
    if (gateway.isAlive) highest = Math.max(highest, measured());
  }, 100);
  try {
    await sleep(3_000);
    tell('before', await askHonest(honest));
    const from = otherAddresses();
    const room = Math.min(1, roomForCaps(LIMIT_BYTES, WORKERS));
    for (const [what, cap, part] of HOSTILE) {
      if (!gateway.isAlive) break;
      const count = Math.ceil(CAP_COSTS[cap].most * room * part);
      const all = await openMany(fillingOf(what), { ...target, from }, count);
      opened.push(...all);
      console.log(`${count} × ${what}: ${mib(measured())} MiB`);
    }
    const coming = await askHonest(honest);
    tell('while they came', coming);
    for (let waitedMs = 0; waitedMs < HOLD_MS && gateway.isAlive; waitedMs += 1_000) await sleep(1_000);
    const staying = await askHonest(honest);
    tell('while they stayed', staying);
    if (gateway.isAlive) console.log(await gauges(gateway));
    const deaths =
      readFileSync(join(folder, 'gateway.log'), 'utf8').match(/"msg":"a worker ended/g)?.length ?? 0;
    console.log(`at most ${mib(highest)} of ${mib(LIMIT_BYTES)} MiB held, ${deaths} workers died`);
    return judge({ isAlive: gateway.isAlive, deaths, highest, coming, staying });
  } finally {
    clearInterval(sampling);
    await honest.terminate();
    await stage.close();
    if (group !== null) await waitFor('its processes are gone', () => group.remove());
  }
}

/** A control group with the limit; without one, V8's heap alone is limited, and what is resident is only watched. */
function newGroup(): MemoryGroup | null {
  try {
    return new MemoryGroup(LIMIT_BYTES);
  } catch (error) {
    console.log(
      `no control group can be made here (${error}): the heap says how much there is, and resident memory is watched`,
    );
    return null;
  }
}

interface Outcome {
  readonly isAlive: boolean;
  /** Workers that ended. */
  readonly deaths: number;
  /** The most memory, bytes. */
  readonly highest: number;
  readonly coming: HonestReport;
  readonly staying: HonestReport;
}

/** Says what is wrong. While thousands connect, a gateway may refuse with 503 since it is late; once they are there, it answers everything. */
function judge({ isAlive, deaths, highest, coming, staying }: Outcome): boolean {
  const { 200: answered = 0, ...others } = staying.statuses;
  const met = Object.keys(others);
  const lost = coming.statuses[0] ?? 0;
  const wrong = [
    ...(isAlive ? [] : ['the gateway is dead']),
    ...(deaths === 0 ? [] : ['workers died']),
    ...(highest <= LIMIT_BYTES ? [] : ['it took more than the limit']),
    ...(lost === 0 ? [] : [`clients who read got no answer ${lost} times while others came`]),
    ...(answered > 0 && met.length === 0
      ? []
      : [`they got ${met.join(', ') || 'nothing'} (0: no answer) later`]),
    ...(staying.p99Ms <= MAX_P99_MS ? [] : [`they waited ${staying.p99Ms.toFixed()} ms`]),
  ];
  console.log(wrong.length === 0 ? 'all is well' : `wrong: ${wrong.join('; ')}`);
  return wrong.length === 0;
}

function tell(when: string, { statuses, medianMs, p99Ms, worstMs }: HonestReport): void {
  const [median, p99, worst] = [medianMs, p99Ms, worstMs].map(ms => ms.toFixed(1));
  console.log(
    `clients who read, ${when}: ${JSON.stringify(statuses)}, ${median} ms, p99 ${p99}, at most ${worst}`,
  );
}

async function askHonest(honest: Worker): Promise<HonestReport> {
  honest.postMessage('what came of it?');
  const [report] = await once(honest, 'message');
  return report;
}

function fillingOf(name: string): Filling {
  const found = [...CONNECTIONS_AND_REQUESTS, ...TABLES].find(
    ({ protocol, what }) => `${protocol} ${what}` === name,
  );
  if (found === undefined) throw new Error(`there is no filling "${name}"`);
  return found;
}

/** Addresses of this machine, each for 20 connections: shares are by address. */
function otherAddresses(): () => string {
  let count = 0;
  return () => {
    const number = Math.floor(count++ / 20);
    return `127.${1 + (number % 250)}.${Math.floor(number / 250)}.1`;
  };
}

const PATIENCE_MS = 5_000;

/** Opens as many as it may. One that is refused, or gets no answer, is not there. */
async function openMany(filling: Filling, target: Target, count: number): Promise<readonly Closable[]> {
  const all: Closable[] = [];
  const each = filling.each;
  for (let left = Math.ceil(count / each); left > 0; left -= 20) {
    const tries = Array.from({ length: Math.min(20, left) }, () => filling.open(target).catch(() => null));
    const next = await Promise.all(tries.map(one => Promise.race([one, sleep(PATIENCE_MS, null)])));
    all.push(...next.filter(one => one !== null));
    if (next.every(one => one === null)) break;
  }
  return all;
}

/** What is there, and what was refused or ended, by the cap. */
async function gauges(gateway: ProbedGateway): Promise<string> {
  const text = await (await gateway.admin('/metrics')).text();
  const told =
    /^weir_(client_connections|requests_in_flight|websockets_open|limit_keys|buffered_bytes|caps_met_total|readers_ended_total|worker_ends_total)\b.* [1-9]/;
  return text
    .split('\n')
    .filter(line => told.test(line))
    .map(line => `  ${line}`)
    .join('\n');
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed();
}

/** A gateway with all caps, timeouts and rates as they are by default. */
function filesOf(target: Target) {
  const url = `http://127.0.0.1:${target.services.http1Port}`;
  const open = { authentication: 'none' };
  const config = {
    ...withProvider(target),
    workers: WORKERS,
    upstreams: { api: { url }, tables: { url }, honest: { url } },
    routes: [
      { path: '/**', upstream: 'api', ...open },
      { path: '/small', upstream: 'tables', ...open },
      { path: '/small/mine', upstream: 'tables' },
      { path: '/honest/**', upstream: 'honest', ...open, strip_prefix: '/honest' },
      { path: '/own', respond: { status: 200, body: '-'.repeat(16_000) } },
      { path: '/socket/**', upstream: 'api', ...open, websocket: true },
    ],
  };
  // Counts every address, and refuses none.
  return { config, limits: { global: { user: '60000/1h', address: '60000/1h' } } };
}
