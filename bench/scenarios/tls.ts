import { once } from 'node:events';
import type { Bench } from '../bench.ts';
import { handshakes, openTls, sessionOf } from '../load/handshakes.ts';
import { compare } from '../measure/compare.ts';
import { figuresOf } from '../measure/figures.ts';
import { cpuMicroseconds } from '../measure/processes.ts';
import { warmUp } from '../measure/warm-up.ts';
import { FORWARDING, PIPELINE } from '../peers/job.ts';
import { type IdleConnection, idleScenario } from './idle.ts';
import { besideEnvoy, everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

/** Node's own proxies speak what Weir speaks; who terminates TLS in daily life is compared. */
const WITHOUT = ['http-proxy-3', 'Fastify'];
const QUICK = ['Weir', 'Envoy', 'nginx', 'HAProxy'];

const tlsRequests: Scenario = {
  id: 'tls',
  title: 'A request over TLS',
  meaning: 'As the pipeline, over connections that have done their handshake.',
  quick: false,
  async run(bench) {
    const job = { ...PIPELINE, clients: 'tls' } as const;
    const entrants = everyone(bench, job, { without: WITHOUT, quick: QUICK });
    const comparison = await compare(bench, entrants, planOf(bench, { secure: true }));
    return findingsOf(comparison, 'GET, 100 bytes, 900-byte token, two limits, TLS 1.3', [
      besideEnvoy(comparison, 0.8),
    ]);
  },
};

const PER_HANDSHAKE = { id: 'cpu', label: 'CPU µs/handshake', digits: 0 };
const COLD_HANDSHAKE = { id: 'cold', label: 'in the first second', digits: 0 };
const HANDSHAKE_RATE = { id: 'rate', label: 'handshakes/s', digits: 0 };

function handshake(kind: 'full' | 'resumed', meaning: string): Scenario {
  return {
    id: `tls-${kind}`,
    title: `A ${kind} TLS handshake`,
    meaning,
    quick: false,
    async run(bench) {
      const { mode, rounds, seconds } = bench.settings;
      const running = [];
      for (const entrant of installed(bench)) {
        const { port, pid } = await bench.start(entrant.peer, entrant.job);
        const session = kind === 'full' ? null : await sessionOf(port);
        const shake = async (forSeconds: number) => {
          const before = cpuMicroseconds(pid);
          const count = await handshakes(port, forSeconds, session);
          return { cpu: (cpuMicroseconds(pid) - before) / count, rate: count / forSeconds };
        };
        const cold = await warmUp(async () => (await shake(1)).cpu, mode);
        running.push({ name: entrant.name, shake, cold, samples: [] as { cpu: number; rate: number }[] });
      }
      await bench.inRounds(running, rounds, async ({ shake, samples }) => samples.push(await shake(seconds)));
      await bench.stopAll();
      const rows = running.map(({ name, cold, samples }) => ({
        name,
        figures: { ...figuresOf(samples), ...figuresOf([{ cold }]) },
      }));
      const how = `TLS 1.3, ECDSA on P-256, 16 connections at a time, each closed after its handshake, ${rounds} rounds of ${seconds} s in turns`;
      return { how, columns: [PER_HANDSHAKE, COLD_HANDSHAKE, HANDSHAKE_RATE], rows };
    },
  };
}

const idleTls = idleScenario({
  id: 'tls-idle',
  title: 'An idle TLS connection',
  meaning: 'What each client costs that is connected and asks for nothing.',
  how: '2,000 connections, one request on each; resident memory above that of the process before; at the end, each answers a request',
  processes: 1,
  count: 2_000,
  maxKib: 60,
  entrants: installed,
  warmUp: async (_, port) => {
    await handshakes(port, 1, null);
    return [];
  },
  open: async (_, port, count) => {
    const connections: IdleConnection[] = [];
    for (let i = 0; i < count; i++) {
      const socket = await openTls(port, null);
      socket.on('data', () => {});
      const ask = () => socket.write('GET /v1/things/7 HTTP/1.1\r\nHost: bench\r\n\r\n');
      ask();
      connections.push({
        close: () => socket.destroy(),
        answers: () => {
          ask();
          return once(socket, 'data');
        },
      });
    }
    return connections;
  },
});

function installed(bench: Bench) {
  const job = { ...FORWARDING, clients: 'tls' } as const;
  return everyone(bench, job, { without: WITHOUT, quick: QUICK }).filter(
    ({ peer }) => peer.version() !== null,
  );
}

export const tls: readonly Scenario[] = [
  tlsRequests,
  handshake('full', 'The first connection of a client.'),
  handshake('resumed', 'A client that was here before brings a ticket.'),
  idleTls,
];
