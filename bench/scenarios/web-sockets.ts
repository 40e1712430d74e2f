import { once } from 'node:events';
import type { Bench } from '../bench.ts';
import { openWebSocket, webSockets } from '../load/web-sockets.ts';
import { compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import { type IdleConnection, idleScenario } from './idle.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

const messages: Scenario = {
  id: 'websocket',
  title: 'A WebSocket message each way',
  meaning: 'A chat, or a game: small messages on connections that stay open.',
  quick: false,
  async run(bench) {
    const plan = planOf(bench, { bodyBytes: 100 });
    const comparison = await compare(bench, who(bench), plan, { generator: webSockets });
    return findingsOf(comparison, '100 bytes there and back count as one, 16 under way on each', [
      besideEnvoy(comparison, 0.9),
      peakOfWeir(comparison, 200),
    ]);
  },
};

/** Handshakes at a time. */
const AT_A_TIME = 50;

const idle = idleScenario({
  id: 'websocket-idle',
  title: 'An idle WebSocket',
  meaning: 'What each user costs who is connected and says nothing.',
  how: '10,000 WebSockets, 5,000 of each of two processes; resident memory above that after the first 100; at the end, each answers a ping',
  // A gateway needs two file descriptors for each, and many systems allow a process 20,000.
  processes: 2,
  count: 5_000,
  maxKib: 25,
  entrants: bench => who(bench).filter(({ peer }) => peer.version() !== null),
  warmUp: (bench, port) => openMany(bench, port, 2 * AT_A_TIME),
  open: openMany,
});

async function openMany(bench: Bench, port: number, count: number): Promise<IdleConnection[]> {
  const plan = planOf(bench);
  const sockets = [];
  for (let opened = 0; opened < count; opened += AT_A_TIME)
    sockets.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, () => openWebSocket(port, plan)))));
  return sockets.map(socket => ({
    close: () => socket.terminate(),
    answers: () => {
      socket.ping();
      return once(socket, 'pong');
    },
  }));
}

function who(bench: Bench) {
  const job = { ...PIPELINE, clients: 'websocket' } as const;
  const without = ['http-proxy-3', 'Fastify'];
  return everyone(bench, job, { without, quick: ['Weir', 'Envoy', 'nginx', 'HAProxy'] });
}

export const webSocketScenarios: readonly Scenario[] = [messages, idle];
