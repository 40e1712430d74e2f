import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import type { Entrant } from '../measure/compare.ts';
import { type Figure, figureOf } from '../measure/figures.ts';
import { residentMebibytes } from '../measure/processes.ts';
import type { Scenario } from './scenario.ts';

/** Lets garbage collectors run, and freed memory return. */
const SETTLE_MS = 3_000;
const KIB_EACH = { id: 'each', label: 'KiB each', digits: 1 };

type Close = () => void;

/** Connections of one kind that stay open and do nothing. */
export interface IdleConnections extends Pick<Scenario, 'id' | 'title' | 'meaning'> {
  readonly how: string;
  /** How many are measured. */
  readonly count: number;
  readonly maxKib: number;
  entrants(bench: Bench): Entrant[];
  /** Pays what only the first connections cost. */
  warmUp(bench: Bench, port: number): Promise<Close[]>;
  open(bench: Bench, port: number, count: number): Promise<Close[]>;
}

/** Measures the memory that each idle connection takes. */
export function idleScenario(connections: IdleConnections): Scenario {
  const { id, title, meaning, how, maxKib } = connections;
  return {
    ...{ id, title, meaning, quick: false },
    async run(bench) {
      const rows = [];
      let ours: Figure | null = null;
      for (const { name, peer, job } of connections.entrants(bench)) {
        bench.progress(name);
        const { pid, port } = await bench.start(peer, job);
        const figure = figureOf([await kibEach(connections, bench, port, pid)]);
        if (name === 'Weir') ours = figure;
        rows.push({ name, note: '', figures: { [KIB_EACH.id]: figure } });
        await bench.stopAll();
      }
      const aims = [{ what: 'KiB each, Weir', max: maxKib, figure: ours }];
      return { how, columns: [KIB_EACH], rows, aims, notes: [] };
    },
  };
}

async function kibEach(
  connections: IdleConnections,
  bench: Bench,
  port: number,
  pid: number,
): Promise<number> {
  const { count } = connections;
  const closers = await connections.warmUp(bench, port);
  await sleep(SETTLE_MS);
  const before = residentMebibytes(pid);
  closers.push(...(await connections.open(bench, port, count)));
  await sleep(SETTLE_MS);
  const after = residentMebibytes(pid);
  for (const close of closers) close();
  return ((after - before) * 1_024) / count;
}
