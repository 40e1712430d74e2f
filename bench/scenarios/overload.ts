import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { type OpenLoopPlan, type OpenLoopResult, openLoop } from '../load/open-loop.ts';
import { isWrkInstalled, WRK_INSTALL, wrk } from '../load/wrk.ts';
import { type Figure, figureOf } from '../measure/figures.ts';
import { cpuMicroseconds } from '../measure/processes.ts';
import { envoy } from '../peers/envoy.ts';
import { PIPELINE } from '../peers/job.ts';
import { nginx } from '../peers/nginx.ts';
import { weir } from '../peers/weir.ts';
import type { Aim, Row } from '../report/result.ts';
import type { Part } from '../world/part.ts';
import { processorShare } from '../world/processor-share.ts';
import { planOf, type Scenario } from './scenario.ts';

/** Of one processor, for a gateway: the generator and the upstream need far less than one for three times what it can do. */
const SHARE = 0.15;
const CONNECTIONS = 2_000;
const PATIENCE_MS = 1_000;
/** Of the generator: a twentieth of what a client waits. */
const MAX_SLIP_MS = 50;
/** Of what wrk reaches: the rates at which the capacity is looked for. */
const RAMP = [0.6, 0.8, 1, 1.2];

const ENTRANTS = [
  { name: 'Weir', peer: weir, job: PIPELINE },
  {
    name: 'Weir, event_loop_delay: off',
    peer: weir,
    job: { ...PIPELINE, weir: { ...PIPELINE.weir, sheds: false } },
  },
  { name: 'Envoy', peer: envoy, job: PIPELINE },
  { name: 'nginx', peer: nginx, job: PIPELINE },
] as const;

/** What one gateway did. */
interface Outcome {
  /** The most requests a second that were answered in time. */
  readonly capacity: number;
  readonly once: OpenLoopResult;
  readonly twice: OpenLoopResult;
  readonly thrice: OpenLoopResult;
  /** At seven tenths of the capacity, right after three times the load. */
  readonly after: OpenLoopResult;
  /** Of one processor, under three times the load. */
  readonly share: number;
}

export const overload: Scenario = {
  id: 'overload',
  title: 'Three times what it can do',
  meaning:
    'Requests come three times as fast as the gateway can serve them, because users do not wait for each other. What counts is how many are still answered in time.',
  quick: false,
  async run(bench) {
    if (!isWrkInstalled()) throw new Error(`wrk is not installed: ${WRK_INSTALL}`);
    const rows: Row[] = [];
    let aims: readonly Aim[] = [];
    for (const { name, peer, job } of ENTRANTS) {
      if (peer.version() === null) continue;
      bench.progress(name);
      bench.noteLoad();
      const outcome = await measure(bench, await bench.start(peer, job));
      await bench.stopAll();
      rows.push(rowOf(name, outcome));
      if (name === 'Weir') aims = aimsOf(outcome);
    }
    return { ...TABLE, rows, aims, notes: [...TABLE.notes, ...slipNotes(rows)] };
  },
};

const TABLE = {
  how: `GET, 100 bytes, 900-byte token, two limits; each gateway held to ${SHARE} of a processor by a control group; requests at a constant rate, up to ${CONNECTIONS.toLocaleString('en')} connections used in turns; a client gives up ${PATIENCE_MS / 1_000} s after its request was due and closes its connection`,
  columns: [
    { id: 'capacity', label: 'capacity/s', digits: 0 },
    { id: 'once', label: 'in time/s at 1×', digits: 0 },
    { id: 'twice', label: '2×', digits: 0 },
    { id: 'thrice', label: '3×', digits: 0 },
    { id: 'refused', label: 'refused/s', digits: 0 },
    { id: 'late', label: 'late/s', digits: 0 },
    { id: 'p50', label: 'p50 ms', digits: 0 },
    { id: 'p99', label: 'p99 ms', digits: 0 },
    { id: 'share', label: 'processor', digits: 2 },
    { id: 'after', label: 'afterwards, % in time', digits: 0 },
    { id: 'slip', label: 'generator late by ms', digits: 0 },
  ],
  notes: [
    'Capacity: the most requests a second that were answered 2xx in time, at any of several rates. Refused, late, the latencies (of requests answered in time, from the moment at which they were due) and the processor time are those at three times the capacity.',
    'Requests that are due while all connections are taken are not sent, and in no column.',
    'Envoy runs without its overload manager, with the queue of waiting connections that it asks for by default.',
    'Afterwards: of the requests at seven tenths of the capacity, right after three times.',
  ],
};

/** Where the generator did not keep up, the figures are its own. */
function slipNotes(rows: readonly Row[]): string[] {
  const late = rows.filter(({ figures }) => (figures['slip']?.median ?? 0) > MAX_SLIP_MS);
  return late.map(
    ({ name }) => `${name}: the generator was late, so these figures say little about the gateway.`,
  );
}

function rowOf(name: string, { capacity, once, twice, thrice, after, share }: Outcome): Row {
  const values = {
    ...thrice,
    ...{ capacity, share, once: once.good, twice: twice.good, thrice: thrice.good },
    after: (100 * after.good) / after.due,
    slip: Math.max(once.slip, twice.slip, thrice.slip, after.slip),
  };
  const figures = TABLE.columns
    .map(({ id }) => [id, values[id as keyof typeof values]] as const)
    // A gateway that answered none in time has no latencies.
    .filter(([, value]) => !Number.isNaN(value))
    .map(([id, value]): [string, Figure] => [id, figureOf([value])]);
  return { name, figures: Object.fromEntries(figures) };
}

function aimsOf({ capacity, once, twice, thrice }: Outcome): Aim[] {
  const lost = Math.max(0, 1 - thrice.good / Math.max(capacity, once.good, twice.good));
  return [{ what: 'Weir, lost of its peak at three times the load', max: 0.2, figure: figureOf([lost]) }];
}

async function measure(bench: Bench, part: Part): Promise<Outcome> {
  const plan = planOf(bench);
  await wrk.run(plan, part.port, 2);
  const held = processorShare(SHARE);
  if (held === null) throw new Error('no control group can be made: run it as root on Linux');
  held.hold(part);
  const hint = (await wrk.run(plan, part.port, 3)).requests / 3;
  const request = requestText(plan.path, plan.headers);
  const load = { port: part.port, requestOf: () => request };
  const capacity = await capacityOf(load, hint);
  const once = await at(load, capacity);
  const twice = await at(load, 2 * capacity);
  const [before, startMs] = [cpuMicroseconds(part.pid), performance.now()];
  const thrice = await at(load, 3 * capacity);
  const share = (cpuMicroseconds(part.pid) - before) / 1_000 / (performance.now() - startMs);
  const after = await at(load, 0.7 * capacity);
  await part.stop();
  held.end();
  return { capacity, once, twice, thrice, after, share };
}

async function capacityOf(load: Pick<OpenLoopPlan, 'port' | 'requestOf'>, hint: number): Promise<number> {
  let most = 0;
  for (const part of RAMP) {
    most = Math.max(most, (await at(load, part * hint)).good);
    await sleep(1_000);
  }
  return most;
}

function at(load: Pick<OpenLoopPlan, 'port' | 'requestOf'>, perSecond: number): Promise<OpenLoopResult> {
  const times = { over: sleep(5_000), warmUpSeconds: 2 };
  return openLoop({ ...load, ...times, perSecond, connections: CONNECTIONS, patienceMs: PATIENCE_MS });
}
