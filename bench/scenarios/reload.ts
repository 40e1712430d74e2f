import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { type Latency, pacedLatency } from '../load/paced.ts';
import { figureOf } from '../measure/figures.ts';
import { cpuMicroseconds } from '../measure/processes.ts';
import { warmUp } from '../measure/warm-up.ts';
import { PIPELINE } from '../peers/job.ts';
import type { Surroundings } from '../peers/peer.ts';
import { limitsConfig, limitsFile, weir } from '../peers/weir.ts';
import type { Row } from '../report/result.ts';
import type { Part } from '../world/part.ts';
import type { Findings, Scenario } from './scenario.ts';

const PATH = '/v1/things/7';
const PER_SECOND = 2_000;
/** How often the limits change while requests pass. */
const RELOAD_EVERY_MS = 500;

const COLUMNS = [
  { id: 'cpu', label: 'CPU µs/request', digits: 1 },
  { id: 'p50', label: 'p50 µs', digits: 0 },
  { id: 'p99', label: 'p99 µs', digits: 0 },
];

/** Fails on any status other than 200: no request may suffer from a reload. */
export const reload: Scenario = {
  id: 'reload',
  title: 'Reloads under load',
  meaning: 'Limits are changed in daily operation. No request may fail or wait because of it.',
  quick: false,
  async run(bench) {
    const surroundings = await bench.surroundings();
    const part = await weir.start(PIPELINE, surroundings);
    bench.adopt(part);
    const reloads = await appliesChanges(bench, part, surroundings);
    const rows = reloads ? await measure(bench, part, surroundings) : [];
    await bench.stopAll();
    const { rounds, seconds } = bench.settings;
    const how = `${PER_SECOND} requests a second over 64 connections, ${rounds} rounds of ${seconds} s in turns with and without a reload every ${RELOAD_EVERY_MS} ms`;
    const notes = reloads ? [] : ['Not in this version: the gateway does not apply a changed limits.yaml.'];
    return { how, columns: COLUMNS, rows, aims: [], notes } satisfies Findings;
  },
};

async function measure(bench: Bench, part: Part, surroundings: Surroundings): Promise<Row[]> {
  const [still, changing]: [(Latency & { cpu: number })[], (Latency & { cpu: number })[]] = [[], []];
  await warmUp(async () => (await sample(bench, part)).cpu, bench.settings.mode);
  for (let round = 0; round < bench.settings.rounds; round++) {
    bench.progress(`round ${round + 1} of ${bench.settings.rounds}`);
    bench.noteLoad();
    still.push(await sample(bench, part));
    const reloads = setInterval(
      () => void change(part, surroundings, 60_000 + (Date.now() % 5_000)),
      RELOAD_EVERY_MS,
    );
    changing.push(await sample(bench, part).finally(() => clearInterval(reloads)));
  }
  const row = (name: string, samples: typeof still): Row => ({
    name,
    note: '',
    figures: {
      cpu: figureOf(samples.map(({ cpu }) => cpu)),
      p50: figureOf(samples.map(({ p50 }) => p50)),
      p99: figureOf(samples.map(({ p99 }) => p99)),
    },
  });
  return [row('without reloads', still), row('with reloads', changing)];
}

async function sample(bench: Bench, part: Part): Promise<Latency & { cpu: number }> {
  const { seconds } = bench.settings;
  const before = cpuMicroseconds(part.pid);
  const pace = { perSecond: PER_SECOND, seconds, connections: 64 };
  const latency = await pacedLatency(part.port, requestText(PATH, bearer(bench)), pace);
  return { ...latency, cpu: (cpuMicroseconds(part.pid) - before) / (PER_SECOND * seconds) };
}

/** Whether a changed limit shows in a response. A version that cannot reload may take the signal for the end. */
async function appliesChanges(bench: Bench, part: Part, surroundings: Surroundings): Promise<boolean> {
  await change(part, surroundings, 60_000);
  for (let tries = 0; tries < 30 && part.isAlive(); tries++) {
    await sleep(100);
    const limit = await fetch(`http://127.0.0.1:${part.port}${PATH}`, { headers: bearer(bench) }).then(
      response => response.headers.get('X-RateLimit-Limit'),
      () => null,
    );
    if (limit === '60000') return true;
  }
  return false;
}

async function change(part: Part, surroundings: Surroundings, max: number): Promise<void> {
  await writeFile(limitsFile(surroundings), JSON.stringify(limitsConfig(PIPELINE, max)));
  if (part.isAlive()) process.kill(part.pid, 'SIGHUP');
}

let token: string | null = null;

function bearer(bench: Bench): Record<string, string> {
  token ??= bench.world.issuer.token('RS256');
  return { Authorization: `Bearer ${token}` };
}
