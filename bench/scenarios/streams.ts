import type { Bench } from '../bench.ts';
import { streamThrough } from '../load/stream.ts';
import { figuresOf } from '../measure/figures.ts';
import { cpuMicroseconds, residentMebibytes } from '../measure/processes.ts';
import { warmUp } from '../measure/warm-up.ts';
import { PIPELINE } from '../peers/job.ts';
import type { Part } from '../world/part.ts';
import { everyone, type Scenario } from './scenario.ts';

const GIB = 1024 ** 3;
/** How often memory is sampled. */
const LOOK_MS = 50;

const COLUMNS = [
  { id: 'cpu', label: 'CPU ms/GiB', digits: 0 },
  { id: 'cold', label: 'the first', digits: 0 },
  { id: 'seconds', label: 'seconds', digits: 1 },
  { id: 'growth', label: 'memory MiB more', digits: 0 },
];

/** The same bytes in both directions, one after the other, on one connection at a time. */
export const streams: readonly Scenario[] = [
  stream(
    'down',
    'Download of 1 GiB',
    'An export or an image. No gateway should hold more of it than is under way.',
  ),
  stream('up', 'Upload of 1 GiB', 'A backup. The upstream reads as fast as it can.'),
];

type Passage = Readonly<Record<'cpu' | 'seconds' | 'growth', number>>;

function stream(direction: 'down' | 'up', title: string, meaning: string): Scenario {
  return {
    id: `stream-${direction}`,
    title,
    meaning,
    quick: false,
    async run(bench) {
      const rows = [];
      const rounds = Math.min(2, bench.settings.rounds);
      for (const { name, peer, job } of everyone(bench, PIPELINE)) {
        if (peer.version() === null) continue;
        bench.progress(name);
        const part = await bench.start(peer, job);
        const passages: Passage[] = [];
        const next = async () => {
          const passage = await pass(bench, part, direction);
          passages.push(passage);
          return passage.cpu;
        };
        const cold = await warmUp(next, bench.settings.mode);
        for (let round = 0; round < rounds; round++) await next();
        // The first pass fills the buffers that are kept.
        const growth = Math.max(...passages.map(passage => passage.growth));
        const figures = { ...figuresOf(passages.slice(-rounds)), ...figuresOf([{ cold, growth }]) };
        rows.push({ name, note: peer.leavesOut(job), figures });
        await bench.stopAll();
      }
      const how = `1 GiB with a Content-Length, one connection, ${rounds} times after a warm-up, one gateway after the other`;
      return { how, columns: COLUMNS, rows, notes: [GROWTH_NOTE] };
    },
  };
}

const GROWTH_NOTE =
  'memory MiB more: the highest of resident memory while the bytes passed, above what it was before the first of them.';

async function pass(bench: Bench, part: Part, direction: 'down' | 'up'): Promise<Passage> {
  bench.noteLoad();
  const [start, cpuBefore, memoryBefore] = [
    performance.now(),
    cpuMicroseconds(part.pid),
    residentMebibytes(part.pid),
  ];
  let highest = memoryBefore;
  const watch = setInterval(() => {
    highest = Math.max(highest, residentMebibytes(part.pid));
  }, LOOK_MS);
  const sizes = direction === 'up' ? { up: GIB, down: 100 } : { up: 0, down: GIB };
  await streamThrough(part.port, headOf(bench, direction), sizes).finally(() => clearInterval(watch));
  return {
    cpu: (cpuMicroseconds(part.pid) - cpuBefore) / 1000,
    seconds: (performance.now() - start) / 1000,
    growth: highest - memoryBefore,
  };
}

function headOf(bench: Bench, direction: 'down' | 'up'): string {
  const line = direction === 'up' ? 'PUT /v1/files/7' : `GET /v1/bytes/${GIB}`;
  const length =
    direction === 'up' ? `Content-Length: ${GIB}\r\nContent-Type: application/octet-stream\r\n` : '';
  const token = bench.world.issuer.token('RS256');
  return `${line} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n${length}\r\n`;
}
