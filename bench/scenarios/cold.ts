import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { GRPC_HEADERS, GRPC_SERVICE } from '../load/grpc.ts';
import { sendCount } from '../load/h2load.ts';
import type { LoadPlan } from '../load/plan.ts';
import { figuresOf } from '../measure/figures.ts';
import { cpuMicroseconds } from '../measure/processes.ts';
import { type Job, PIPELINE } from '../peers/job.ts';
import { weir } from '../peers/weir.ts';
import { planOf, type Scenario } from './scenario.ts';

/** What a gateway serves in its first second under load, and how often that again before it counts as warm. */
const FIRST = 10_000;
const WARM_AFTER = 5;

const COLUMNS = [
  { id: 'cold', label: 'first 10,000, µs', digits: 1 },
  { id: 'warm', label: 'warm, µs', digits: 1 },
  { id: 'ratio', label: 'cold to warm', digits: 2 },
  { id: 'ready', label: 'ready after, CPU s', digits: 2 },
];

interface Kind {
  readonly name: string;
  readonly clients: Job['clients'];
  /** Streams a connection; null: HTTP/1.1. */
  readonly streams: number | null;
}

const KINDS: readonly Kind[] = [
  { name: 'HTTP/1.1', clients: 'http1', streams: null },
  { name: 'HTTP/1.1 over TLS', clients: 'tls', streams: null },
  { name: 'HTTP/2', clients: 'h2c', streams: 4 },
  { name: 'gRPC', clients: 'grpc', streams: 4 },
];

/** Needs h2load alone. */
export const cold: Scenario = {
  id: 'cold',
  title: 'The first second of a replica',
  meaning:
    'A rolling update puts load on gateways that have just started: their code is compiled as it is used.',
  quick: false,
  async run(bench) {
    const entrants = KINDS.flatMap(kind =>
      [null, '500ms'].map(warmUp => ({ kind, warmUp, samples: [] as Sample[] })),
    );
    await bench.inRounds(entrants, bench.settings.rounds, async ({ kind, warmUp, samples }) => {
      samples.push(await sample(bench, kind, warmUp));
      await bench.stopAll();
    });
    const rows = entrants.map(({ kind, warmUp, samples }) => ({
      name: `${kind.name}${warmUp === null ? '' : `, warm_up: ${warmUp}`}`,
      figures: figuresOf(samples),
    }));
    const how = `h2load, 32 connections; each round starts every gateway anew; warm after ${(WARM_AFTER * FIRST).toLocaleString('en')} requests`;
    return { how, columns: COLUMNS, rows };
  },
};

type Sample = Readonly<Record<'cold' | 'warm' | 'ratio' | 'ready', number>>;

async function sample(bench: Bench, { clients, streams }: Kind, warmUp: string | null): Promise<Sample> {
  const part = await bench.start(weir, { ...PIPELINE, clients, weir: { ...PIPELINE.weir, warmUp } });
  const ready = cpuMicroseconds(part.pid) / 1e6;
  const plan = planFor(bench, clients);
  await fetchKeys(part.port);
  const cost = async () => {
    const before = cpuMicroseconds(part.pid);
    const { requests, failures } = await sendCount(plan, part.port, FIRST, streams);
    if (failures > 0) throw new Error(`${failures} of ${requests} requests failed`);
    return (cpuMicroseconds(part.pid) - before) / requests;
  };
  const first = await cost();
  let warm = first;
  for (let i = 0; i < WARM_AFTER; i++) warm = await cost();
  return { cold: first, warm, ratio: first / warm, ready };
}

function planFor(bench: Bench, clients: Job['clients']): LoadPlan {
  if (clients !== 'grpc') return planOf(bench, { connections: 32, secure: clients === 'tls' });
  const plan = planOf(bench, {
    method: 'POST',
    path: `/${GRPC_SERVICE}/Unary`,
    bodyBytes: 100,
    connections: 32,
  });
  return { ...plan, headers: { ...plan.headers, ...GRPC_HEADERS } };
}

/** The gateway has its keys soon after it listens. */
async function fetchKeys(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  await sleep(500);
}
