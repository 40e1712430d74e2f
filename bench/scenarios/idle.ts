import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import type { Entrant } from '../measure/compare.ts';
import { type Figure, figuresOf } from '../measure/figures.ts';
import { residentMebibytes } from '../measure/processes.ts';
import type { Column } from '../report/result.ts';
import type { Scenario } from './scenario.ts';

/** Lets garbage collectors run, and freed memory return. */
const SETTLE_MS = 3_000;
/** By then, every connection has answered that still works. */
const ANSWER_MS = 30_000;
const COLUMNS: readonly Column[] = [
  { id: 'each', label: 'KiB each', digits: 1 },
  { id: 'memory', label: 'MiB of a process', digits: 0 },
];

export interface IdleConnection {
  close(): void;
  /** Asks for something through the gateway. Resolves when that has come. */
  answers(): Promise<unknown>;
}

/** Connections of one kind that stay open and do nothing. */
export interface IdleConnections extends Pick<Scenario, 'id' | 'title' | 'meaning'> {
  readonly how: string;
  /** Processes of each gateway, and how many connections of each are measured. */
  readonly processes: number;
  readonly count: number;
  readonly maxKib: number;
  entrants(bench: Bench): Entrant[];
  /** Pays what only the first connections cost. */
  warmUp(bench: Bench, port: number): Promise<IdleConnection[]>;
  open(bench: Bench, port: number, count: number): Promise<IdleConnection[]>;
}

/** Measures the memory that each idle connection takes, and that all of them still work at the end. */
export function idleScenario(connections: IdleConnections): Scenario {
  const { id, title, meaning, how, maxKib } = connections;
  return {
    ...{ id, title, meaning, quick: false },
    async run(bench) {
      const rows = [];
      let ours: Figure | null = null;
      for (const entrant of connections.entrants(bench)) {
        bench.progress(entrant.name);
        const figures = await measure(connections, bench, entrant);
        if (entrant.name === 'Weir') ours = figures.each;
        rows.push({ name: entrant.name, figures });
        await bench.stopAll();
      }
      const aims = [{ what: 'KiB each, Weir', max: maxKib, figure: ours }];
      return { how, columns: COLUMNS, rows, aims };
    },
  };
}

/** Holds the connections of all processes at once. */
async function measure(connections: IdleConnections, bench: Bench, { name, peer, job }: Entrant) {
  const held: IdleConnection[] = [];
  const samples: Record<'each' | 'memory', number>[] = [];
  for (let i = 0; i < connections.processes; i++) {
    const { pid, port } = await bench.start(peer, job);
    held.push(...(await connections.warmUp(bench, port)));
    await sleep(SETTLE_MS);
    const before = residentMebibytes(pid);
    held.push(...(await connections.open(bench, port, connections.count)));
    await sleep(SETTLE_MS);
    const memory = residentMebibytes(pid);
    samples.push({ each: ((memory - before) * 1_024) / connections.count, memory });
  }
  const answered = await countAnswers(held);
  if (answered < held.length) throw new Error(`${name}: ${answered} of ${held.length} connections answer`);
  bench.progress(`${name}: all of ${answered} connections answer`);
  for (const connection of held) connection.close();
  return figuresOf(samples);
}

async function countAnswers(held: readonly IdleConnection[]): Promise<number> {
  let answered = 0;
  const all = held.map(connection => connection.answers().then(() => answered++));
  await Promise.race([Promise.all(all), sleep(ANSWER_MS, null, { ref: false })]);
  return answered;
}
