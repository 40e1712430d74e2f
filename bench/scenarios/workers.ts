import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { type Latency, pacedLatency } from '../load/paced.ts';
import { isWrkInstalled, pipelined, WRK_INSTALL, wrk } from '../load/wrk.ts';
import { compare, type Entrant, type Sample, sample } from '../measure/compare.ts';
import { type Figure, figureOf, figuresOf } from '../measure/figures.ts';
import { busiestThreads } from '../measure/processes.ts';
import { warmUp } from '../measure/warm-up.ts';
import { envoy } from '../peers/envoy.ts';
import { PIPELINE } from '../peers/job.ts';
import { nginx } from '../peers/nginx.ts';
import { weir } from '../peers/weir.ts';
import type { Aim, Column } from '../report/result.ts';
import type { Part } from '../world/part.ts';
import { holdThreads } from '../world/processor-share.ts';
import { type Findings, planOf, type Scenario } from './scenario.ts';

/** Of one processor, for each thread that serves: the generator and the upstream have more than enough left of two. */
const SHARE = 0.25;
/** Three times as many rounds as elsewhere: from one to the next, the machine's speed changes by more than is measured here. */
const HELD_ROUNDS = 3;
/** Requests a second beside a connection that is busy: far below what one thread can do. */
const BESIDE_PER_SECOND = 500;
const BUSY_REQUESTS = 32;

const ENTRANTS: readonly Entrant[] = [
  { name: 'Weir', peer: weir, job: PIPELINE },
  { name: 'Weir, 2 workers', peer: weir, job: { ...PIPELINE, threads: 2 } },
  { name: 'Weir, 3 workers', peer: weir, job: { ...PIPELINE, threads: 3 } },
  { name: 'Envoy, 2 threads', peer: envoy, job: { ...PIPELINE, threads: 2 } },
  { name: 'nginx, 2 workers', peer: nginx, job: { ...PIPELINE, threads: 2 } },
];

const HELD: Column = { id: 'held', label: `requests/s, each thread at ${SHARE} of a processor`, digits: 0 };
const HELD_CPU: Column = { id: 'heldCpu', label: 'CPU µs/request then', digits: 1 };
const BUSY_P50: Column = { id: 'busyP50', label: 'p50 µs beside a busy connection', digits: 0 };
const BUSY_P99: Column = { id: 'busyP99', label: 'p99 µs', digits: 0 };

/** What one entrant did beside a busy connection, and then while its threads were held, round by round. */
interface Measured {
  readonly beside: Latency[];
  /** Processor time is that of all threads, also of those that are not held. */
  readonly held: Sample[];
}

export const workers: Scenario = {
  id: 'workers',
  title: 'Several threads under one limit',
  meaning:
    'One process serves with several threads, which decide about the same limits. What counts is what sharing costs, and how much more is served.',
  quick: false,
  async run(bench) {
    if (!isWrkInstalled()) throw new Error(`wrk is not installed: ${WRK_INSTALL}`);
    const comparison = await compare(bench, ENTRANTS, planOf(bench));
    const measured = await measureAll(bench);
    const { how, columns, rows, notes } = comparison;
    const aims: Aim[] = [
      {
        what: 'CPU, Weir with 2 workers to Weir, each thread held',
        max: 1.1,
        figure: ofEachRound(measured, (two, one) => two.cpu / one.cpu),
      },
      {
        what: 'the same, no thread held',
        max: null,
        figure: comparison.ratio('Weir, 2 workers', 'Weir'),
      },
      {
        what: 'lost of twice what one thread serves',
        max: 0.1,
        figure: ofEachRound(measured, (two, one) => Math.max(0, 1 - two.rate / (2 * one.rate))),
      },
      {
        what: 'peak MiB of a further worker',
        max: 60,
        figure: between(comparison.peak('Weir, 3 workers'), comparison.peak('Weir, 2 workers')),
      },
    ];
    return {
      how: `GET, 100 bytes, 900-byte token, two limits; ${how}. Then ${BESIDE_PER_SECOND} requests a second beside a connection that keeps ${BUSY_REQUESTS} in flight; then each thread that serves held to ${SHARE} of a processor by a control group, under the load from before, ${HELD_ROUNDS} times as many rounds in turns`,
      columns: [...columns, HELD, HELD_CPU, BUSY_P50, BUSY_P99],
      rows: rows.map(row => ({
        ...row,
        figures: { ...row.figures, ...heldFigures(measured.get(row.name)) },
      })),
      aims,
      notes: [
        ...notes,
        'The threads that are held are those that used the most processor time while the gateway was warmed up; all its others are free, and count.',
        'Threads that are held leave the generator and the upstream processors of their own. Otherwise two threads that serve share two processors with these.',
      ],
    } satisfies Findings;
  },
};

/** Measures the gateways in turns: those whose turn it is not are idle. */
async function measureAll(bench: Bench): Promise<ReadonlyMap<string, Measured>> {
  const { rounds, seconds } = bench.settings;
  const plan = planOf(bench);
  const running: Running[] = [];
  const ends: (() => void)[] = [];
  try {
    for (const entrant of ENTRANTS) {
      if (entrant.peer.version() === null) continue;
      bench.progress(`warming up ${entrant.name}`);
      const part = await bench.start(entrant.peer, entrant.job);
      const gateway = { ...entrant, part, measured: { beside: [], held: [] } };
      await warmUp(async () => (await sample(gateway, plan, wrk, 1)).cpu, bench.settings.mode);
      running.push(gateway);
    }
    await bench.inRounds(running, rounds, async ({ part, measured }) => {
      measured.beside.push(await besideBusy(bench, part.port));
    });
    for (const gateway of running) ends.push(hold(gateway));
    await bench.inRounds(running, rounds * HELD_ROUNDS, async gateway => {
      gateway.measured.held.push(await sample(gateway, plan, wrk, seconds));
    });
  } finally {
    await bench.stopAll();
    for (const end of ends) end();
  }
  return new Map(running.map(({ name, measured }) => [name, measured]));
}

/** A gateway that is measured. */
interface Running extends Entrant {
  readonly part: Part;
  readonly measured: Measured;
}

/** Holds the threads that serve. Returns what to call once the gateway has ended. */
function hold({ part, job }: Running): () => void {
  const end = holdThreads(part, busiestThreads(part.pid, job.threads), SHARE);
  if (end === null) throw new Error('no control groups can be made: run it as root on Linux');
  return end;
}

async function besideBusy(bench: Bench, port: number): Promise<Latency> {
  const { seconds } = bench.settings;
  const plan = planOf(bench);
  const busy = pipelined(plan, port, seconds + 1, BUSY_REQUESTS);
  const latency = await pacedLatency(port, requestText(plan.path, plan.headers), {
    ...{ perSecond: BESIDE_PER_SECOND, seconds, connections: plan.connections },
  });
  await busy;
  return latency;
}

function heldFigures(measured: Measured | undefined): Record<string, Figure> {
  if (measured === undefined) return {};
  const { held, beside } = measured;
  return {
    ...figuresOf(held.map(({ rate, cpu }) => ({ [HELD.id]: rate, [HELD_CPU.id]: cpu }))),
    ...figuresOf(beside.map(({ p50, p99 }) => ({ [BUSY_P50.id]: p50, [BUSY_P99.id]: p99 }))),
  };
}

/** Compares two workers with one, threads held, round by round. */
function ofEachRound(
  measured: ReadonlyMap<string, Measured>,
  join: (two: Sample, one: Sample) => number,
): Figure | null {
  const [ones, twos] = [measured.get('Weir')?.held, measured.get('Weir, 2 workers')?.held];
  if (ones === undefined || twos === undefined) return null;
  const none = { rate: Number.NaN, cpu: Number.NaN };
  return figureOf(twos.map((two, round) => join(two, ones[round] ?? none)));
}

function between(more: Figure | null, less: Figure | null): Figure | null {
  return more === null || less === null ? null : figureOf([more.median - less.median]);
}
