import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { openWebSocket, webSockets } from '../load/web-sockets.ts';
import { compare } from '../measure/compare.ts';
import { type Figure, figureOf } from '../measure/figures.ts';
import { residentMebibytes } from '../measure/processes.ts';
import { PIPELINE } from '../peers/job.ts';
import { everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

const messages: Scenario = {
  id: 'websocket',
  title: 'A WebSocket message each way',
  meaning: 'A chat, or a game: small messages on connections that stay open.',
  quick: false,
  async run(bench) {
    const plan = planOf(bench, { bodyBytes: 100 });
    const comparison = await compare(bench, who(bench), plan, { generator: webSockets });
    return findingsOf(comparison, '100 bytes there and back count as one, 16 under way on each', [
      { what: 'CPU, Weir to Envoy', max: 1, figure: comparison.ratio('Weir', 'Envoy') },
    ]);
  },
};

/** A gateway needs two file descriptors for each. */
const IDLE = 5_000;
/** Handshakes at a time. */
const AT_A_TIME = 50;
/** For collectors of garbage, and for what is freed later. */
const SETTLE_MS = 3_000;
const KIB_EACH = { id: 'each', label: 'KiB each', digits: 1 };

const idle: Scenario = {
  id: 'websocket-idle',
  title: 'An idle WebSocket',
  meaning: 'What each user costs who is connected and says nothing.',
  quick: false,
  async run(bench) {
    const rows = [];
    let ours: Figure | null = null;
    for (const { name, peer, job } of who(bench).filter(entrant => entrant.peer.version() !== null)) {
      bench.progress(name);
      const { pid, port } = await bench.start(peer, job);
      const figure = figureOf([await kibEach(bench, port, pid)]);
      if (name === 'Weir') ours = figure;
      rows.push({ name, note: '', figures: { [KIB_EACH.id]: figure } });
      await bench.stopAll();
    }
    const how = `${IDLE.toLocaleString('en')} WebSockets; resident memory above that of the process after its first 100`;
    return {
      how,
      columns: [KIB_EACH],
      rows,
      aims: [{ what: 'KiB each, Weir', max: 25, figure: ours }],
      notes: [],
    };
  },
};

async function kibEach(bench: Bench, port: number, pid: number): Promise<number> {
  const plan = planOf(bench);
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => openWebSocket(port, plan)));
  const sockets = [...(await open(AT_A_TIME)), ...(await open(AT_A_TIME))];
  await sleep(SETTLE_MS);
  const before = residentMebibytes(pid);
  for (let count = 0; count < IDLE; count += AT_A_TIME) sockets.push(...(await open(AT_A_TIME)));
  await sleep(SETTLE_MS);
  const after = residentMebibytes(pid);
  for (const socket of sockets) socket.terminate();
  return ((after - before) * 1_024) / IDLE;
}

function who(bench: Bench) {
  const job = { ...PIPELINE, clients: 'websocket' } as const;
  const without = ['http-proxy-3', 'Fastify'];
  return everyone(bench, job, { without, quick: ['Weir', 'Envoy', 'nginx', 'HAProxy'] });
}

export const webSocketScenarios: readonly Scenario[] = [messages, idle];
