import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { type Latency, pacedLatency } from '../load/paced.ts';
import { isWrkInstalled, pipelined, WRK_INSTALL, wrk } from '../load/wrk.ts';
import { compare, type Entrant, inTurn } from '../measure/compare.ts';
import { type Figure, figureOf } from '../measure/figures.ts';
import { busiestThreads } from '../measure/processes.ts';
import { envoy } from '../peers/envoy.ts';
import { PIPELINE } from '../peers/job.ts';
import { nginx } from '../peers/nginx.ts';
import { weir } from '../peers/weir.ts';
import type { Aim, Column } from '../report/result.ts';
import { holdThreads } from '../world/processor-share.ts';
import { type Findings, planOf, type Scenario } from './scenario.ts';

/** Of one processor, for each thread that serves: the generator and the upstream have more than enough left of two. */
const SHARE = 0.25;
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
const BUSY_P50: Column = { id: 'busyP50', label: 'p50 µs beside a busy connection', digits: 0 };
const BUSY_P99: Column = { id: 'busyP99', label: 'p99 µs', digits: 0 };

/** What one entrant did while its threads were held, and then beside a busy connection. */
interface Measured {
  readonly held: number[];
  readonly beside: Latency[];
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
        what: 'CPU, Weir with 2 workers to Weir',
        max: 1.1,
        figure: comparison.ratio('Weir, 2 workers', 'Weir'),
      },
      { what: 'lost of twice what one thread serves', max: 0.1, figure: lost(measured) },
      {
        what: 'peak MiB of a further worker',
        max: 60,
        figure: between(comparison.peak('Weir, 3 workers'), comparison.peak('Weir, 2 workers')),
      },
    ];
    return {
      how: `GET, 100 bytes, 900-byte token, two limits; ${how}. Then each thread that serves held to ${SHARE} of a processor by a control group, under the same load; then ${BESIDE_PER_SECOND} requests a second beside a connection that keeps ${BUSY_REQUESTS} in flight`,
      columns: [...columns, HELD, BUSY_P50, BUSY_P99],
      rows: rows.map(row => ({ ...row, figures: { ...row.figures, ...figuresOf(measured.get(row.name)) } })),
      aims,
      notes: [
        ...notes,
        'The threads that are held are those that used the most processor time while the gateway was warmed up; all its others are free.',
      ],
    } satisfies Findings;
  },
};

/** Measures each gateway alone, so that the processors are its own; in turns. */
async function measureAll(bench: Bench): Promise<ReadonlyMap<string, Measured>> {
  const entrants = ENTRANTS.filter(({ peer }) => peer.version() !== null);
  const measured = new Map(entrants.map(({ name }) => [name, { held: [], beside: [] } as Measured]));
  for (let round = 0; round < bench.settings.rounds; round++) {
    for (const entrant of inTurn(entrants, round)) {
      bench.progress(`${entrant.name}, round ${round + 1} of ${bench.settings.rounds}`);
      bench.noteLoad();
      const { held, beside } = await measure(bench, entrant);
      measured.get(entrant.name)?.held.push(held);
      measured.get(entrant.name)?.beside.push(beside);
    }
  }
  return measured;
}

async function measure(bench: Bench, { peer, job }: Entrant) {
  const { seconds } = bench.settings;
  const plan = planOf(bench);
  const part = await bench.start(peer, job);
  await wrk.run(plan, part.port, 3);
  const beside = await besideBusy(bench, part.port);
  const end = holdThreads(part, busiestThreads(part.pid, job.threads), SHARE);
  if (end === null) throw new Error('no control groups can be made: run it as root on Linux');
  const { requests } = await wrk.run(plan, part.port, seconds);
  await bench.stopAll();
  end();
  return { held: requests / seconds, beside };
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

function figuresOf(measured: Measured | undefined): Record<string, Figure> {
  if (measured === undefined) return {};
  const { held, beside } = measured;
  return {
    [HELD.id]: figureOf(held),
    [BUSY_P50.id]: figureOf(beside.map(({ p50 }) => p50)),
    [BUSY_P99.id]: figureOf(beside.map(({ p99 }) => p99)),
  };
}

/** The part of twice what one thread serves that two do not serve. */
function lost(measured: ReadonlyMap<string, Measured>): Figure | null {
  const [one, two] = [measured.get('Weir')?.held, measured.get('Weir, 2 workers')?.held];
  if (one === undefined || two === undefined) return null;
  return figureOf(two.map((rate, round) => Math.max(0, 1 - rate / (2 * (one[round] ?? Number.NaN)))));
}

function between(more: Figure | null, less: Figure | null): Figure | null {
  return more === null || less === null ? null : figureOf([more.median - less.median]);
}
