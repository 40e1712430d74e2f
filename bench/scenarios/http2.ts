import { once } from 'node:events';
import { connect } from 'node:http2';
import { h2load } from '../load/h2load.ts';
import { compare } from '../measure/compare.ts';
import { FORWARDING, PIPELINE } from '../peers/job.ts';
import { type IdleConnection, idleScenario } from './idle.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

const WITHOUT = ['http-proxy-3', 'Fastify'];
const QUICK = ['Weir', 'Envoy', 'nginx', 'HAProxy'];

const idle = idleScenario({
  id: 'h2-idle',
  title: 'An idle HTTP/2 connection',
  meaning:
    'What each client costs that is connected and asks for nothing, as browsers and callers of gRPC mostly are.',
  how: '5,000 connections in cleartext, one request on each; resident memory above that after the first 100; at the end, each answers a request',
  processes: 1,
  count: 5_000,
  maxKib: 24,
  entrants: bench =>
    everyone(bench, { ...FORWARDING, clients: 'h2c' }, { without: WITHOUT, quick: QUICK }).filter(
      ({ peer }) => peer.version() !== null,
    ),
  warmUp: (_, port) => openMany(port, 100),
  open: (_, port, count) => openMany(port, count),
});

async function openMany(port: number, count: number): Promise<IdleConnection[]> {
  const connections: IdleConnection[] = [];
  for (let i = 0; i < count; i++) {
    const session = connect(`http://127.0.0.1:${port}`);
    const answers = () => once(session.request({ ':path': '/v1/things/7' }).resume(), 'end');
    await answers();
    connections.push({ close: () => session.destroy(), answers });
  }
  return connections;
}

export const http2: readonly Scenario[] = [
  scenario(1, 64, 0.8, 'Clients that wait for each response, as over HTTP/1.1.'),
  scenario(100, 4, 0.6, 'Clients that ask for much at once, as pages do.'),
  idle,
];

/** @param max of Envoy's processor time */
function scenario(streams: number, connections: number, max: number, meaning: string): Scenario {
  return {
    id: `h2-${streams}`,
    title: `HTTP/2, ${streams} ${streams === 1 ? 'stream' : 'streams'} a connection`,
    meaning,
    quick: false,
    async run(bench) {
      const job = { ...PIPELINE, clients: 'h2c' } as const;
      const entrants = everyone(bench, job, { without: WITHOUT, quick: QUICK });
      const comparison = await compare(bench, entrants, planOf(bench, { connections }), {
        generator: h2load(streams),
      });
      return findingsOf(
        comparison,
        'GET, 100 bytes, 900-byte token, two limits, cleartext towards the gateway, HTTP/1.1 to the upstream',
        [besideEnvoy(comparison, max), peakOfWeir(comparison, 200)],
      );
    },
  };
}
