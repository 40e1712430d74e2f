import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { openLoop } from '../load/open-loop.ts';
import { type Figure, figureOf } from '../measure/figures.ts';
import { cpuMicroseconds, residentMebibytes } from '../measure/processes.ts';
import { pathOf, RELOADERS, type Reloader, type Reloading, ROUTES } from '../peers/reloaders.ts';
import type { Aim, Row } from '../report/result.ts';
import type { Findings, Scenario } from './scenario.ts';

/** Connections are opened as they are needed: a gateway that stands still for a tenth of a second makes clients open 200. */
const PACE = { perSecond: 2_000, connections: 2_000, patienceMs: 5_000 };
/** Of those that serve. */
const THREADS = [1, 2];
/** How long memory may take to come back after the last reload: V8 keeps the pages of a thread that ended for about ten seconds. */
const REST_MS = 20_000;

const COLUMNS = [
  { id: 'still', label: 'p99.9 ms', digits: 1 },
  { id: 'changing', label: 'with reloads', digits: 1 },
  { id: 'turn', label: 'longest turn ms', digits: 1 },
  { id: 'cpu', label: 'CPU ms/reload', digits: 0 },
  { id: 'lost', label: 'lost', digits: 0 },
  { id: 'before', label: 'MiB before', digits: 0 },
  { id: 'after', label: 'after', digits: 0 },
];

/** One run of a gateway: without reloads, then with them. */
type Run = Record<'still' | 'changing' | 'cpu' | 'lost' | 'before' | 'after', number> & {
  readonly turn: number | null;
};

export const reload: Scenario = {
  id: 'reload',
  title: 'Reloads under load',
  meaning: 'Limits are changed in daily operation. No request may fail or wait because of it.',
  quick: false,
  async run(bench) {
    const { rounds, reloads, peers } = bench.settings;
    const asked = RELOADERS.filter(({ name }) => peers?.some(peer => name.startsWith(peer)) ?? true);
    const there = asked.filter(reloader => reloader.version() !== null);
    const rows: Row[] = [];
    const aims: Aim[] = [];
    for (const threads of THREADS) {
      const runs = new Map<Reloader, Run[]>(there.map(reloader => [reloader, []]));
      for (let round = 0; round < rounds; round++)
        for (const reloader of there) {
          bench.progress(`${reloader.name}, ${threads} threads, round ${round + 1} of ${rounds}`);
          bench.noteLoad();
          runs.get(reloader)?.push(await measure(bench, reloader, threads));
        }
      for (const [{ name }, all] of runs) {
        const figures = figuresOf(all);
        rows.push({
          name: `${name}, ${threads === 1 ? 'one thread' : `${threads} threads`}`,
          figures,
        });
        if (name === 'Weir') aims.push(...aimsOf(threads, all, figures));
      }
    }
    const missing = asked.filter(reloader => !there.includes(reloader));
    return {
      how: `${ROUTES} routes with a limit each, of which one changes; ${PACE.perSecond} requests a second over up to ${PACE.connections} connections; ${rounds} runs, each without reloads and with ${reloads}`,
      columns: COLUMNS,
      rows,
      aims,
      notes: missing.map(({ name, install }) => `${name} is not installed: ${install}`),
    } satisfies Findings;
  },
};

async function measure(bench: Bench, reloader: Reloader, threads: number): Promise<Run> {
  const { reloads, seconds } = bench.settings;
  const gateway = await reloader.start(await bench.surroundings(), threads);
  bench.adopt(gateway);
  try {
    const load = { ...PACE, port: gateway.port, requestOf };
    await openLoop({ ...load, over: sleep(seconds * 1_000) });
    const still = await openLoop({ ...load, over: sleep(seconds * 1_000) });
    const before = residentMebibytes(gateway.pid);
    const turns: number[] = [];
    const cpuBefore = cpuMicroseconds(gateway.pid);
    const changing = await openLoop({ ...load, over: change(gateway, reloads, turns) });
    const cpu = (cpuMicroseconds(gateway.pid) - cpuBefore) / 1_000 / reloads;
    await sleep(REST_MS);
    return {
      still: still.p999,
      changing: changing.p999,
      turn: turns.length === 0 ? null : Math.max(...turns),
      cpu,
      lost: changing.lost,
      before,
      after: residentMebibytes(gateway.pid),
    };
  } finally {
    await bench.stopAll();
  }
}

/** Changes a number so many times, each once the one before applies. */
async function change(gateway: Reloading, reloads: number, turns: number[]): Promise<void> {
  for (let reload = 0; reload < reloads; reload++) {
    await gateway.reload(50_000 + reload);
    const turn = await gateway.longestTurnMs();
    if (turn !== null) turns.push(turn);
  }
}

function requestOf(number: number): string {
  return requestText(`${pathOf(number % ROUTES)}7`, {});
}

function figuresOf(runs: readonly Run[]): Record<string, Figure> {
  const of = (column: keyof Run) => {
    const values = runs.map(run => run[column]).filter(value => value !== null);
    return values.length === 0 ? [] : [[column, figureOf(values)] as const];
  };
  return Object.fromEntries(COLUMNS.flatMap(({ id }) => of(id as keyof Run)));
}

function aimsOf(threads: number, runs: readonly Run[], { turn, lost }: Record<string, Figure>): Aim[] {
  const what = threads === 1 ? 'one worker' : `${threads} workers`;
  return [
    { what: `longest turn ms, ${what}`, max: 20, figure: turn ?? null },
    {
      what: `p99.9 ms above that without reloads, ${what}`,
      max: 20,
      figure: figureOf(runs.map(({ still, changing }) => changing - still)),
    },
    { what: `lost, ${what}`, max: 0, figure: lost ?? null },
  ];
}
