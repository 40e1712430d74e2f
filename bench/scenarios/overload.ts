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
import { type Findings, planOf, type Scenario } from './scenario.ts';

/** Of one processor, for a gateway: the generator has to keep up with three times what it can do. */
const SHARE = 0.25;
const CONNECTIONS = 4_000;
const PATIENCE_MS = 1_000;
const WARM_UP_SECONDS = 4;
/** Of the generator: a fifth of what a client waits. */
const MAX_SLIP_MS = 200;
const SECONDS = 12;

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
  /** Requests a second, as fast as they are answered. */
  readonly peak: number;
  readonly atCapacity: OpenLoopResult;
  readonly overloaded: OpenLoopResult;
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

const TABLE: Pick<Findings, 'how' | 'columns' | 'notes'> = {
  how: `GET, 100 bytes, 900-byte token, two limits; each gateway held to ${SHARE} of a processor by a control group; ${CONNECTIONS.toLocaleString('en')} connections, requests at a constant rate, a client gives up after ${PATIENCE_MS / 1_000} s and connects anew`,
  columns: [
    { id: 'peak', label: 'peak/s', digits: 0 },
    { id: 'atCapacity', label: 'in time/s at nine tenths of the peak', digits: 0 },
    { id: 'good', label: 'in time/s at three times', digits: 0 },
    { id: 'refused', label: 'refused/s', digits: 0 },
    { id: 'late', label: 'late/s', digits: 0 },
    { id: 'p50', label: 'p50 ms', digits: 0 },
    { id: 'p99', label: 'p99 ms', digits: 0 },
    { id: 'share', label: 'processor', digits: 2 },
    { id: 'slip', label: 'generator late by ms', digits: 0 },
  ],
  notes: [
    'Requests that are due while all connections are taken are not sent, and in no column.',
    'The latencies are those of requests answered in time, at three times the peak rate, from the moment at which they were due.',
  ],
};

/** Where the generator did not keep up, the figures are its own. */
function slipNotes(rows: readonly Row[]): string[] {
  const late = rows.filter(({ figures }) => (figures['slip']?.median ?? 0) > MAX_SLIP_MS);
  return late.map(
    ({ name }) => `${name}: the generator was late, so these figures say nothing about the gateway.`,
  );
}

function rowOf(name: string, { peak, atCapacity, overloaded, share }: Outcome): Row {
  const { good, refused, late, p50, p99, slip } = overloaded;
  const values = { peak, atCapacity: atCapacity.good, good, refused, late, p50, p99, share, slip };
  const figures = Object.entries(values).map(([id, value]): [string, Figure] => [id, figureOf([value])]);
  return { name, note: '', figures: Object.fromEntries(figures) };
}

function aimsOf({ peak, atCapacity, overloaded }: Outcome): Aim[] {
  const lost = 1 - overloaded.good / Math.max(peak, atCapacity.good);
  return [{ what: 'Weir, lost of its peak at three times the load', max: 0.2, figure: figureOf([lost]) }];
}

async function measure(bench: Bench, part: Part): Promise<Outcome> {
  const plan = planOf(bench);
  await wrk.run(plan, part.port, 2);
  const held = processorShare(SHARE);
  if (held === null) throw new Error('no control group can be made: run it as root on Linux');
  held.hold(part);
  const peak = (await wrk.run(plan, part.port, 4)).requests / 4;
  const load: Omit<OpenLoopPlan, 'perSecond'> = {
    port: part.port,
    request: requestText(plan.path, plan.headers),
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
    connections: CONNECTIONS,
    patienceMs: PATIENCE_MS,
  };
  const atCapacity = await openLoop({ ...load, perSecond: 0.9 * peak });
  const [before, startMs] = [cpuMicroseconds(part.pid), performance.now()];
  const overloaded = await openLoop({ ...load, perSecond: 3 * peak });
  const share = (cpuMicroseconds(part.pid) - before) / 1_000 / (performance.now() - startMs);
  await part.stop();
  held.end();
  return { peak, atCapacity, overloaded, share };
}
