import { h2load } from '../load/h2load.ts';
import { compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

export const http2: readonly Scenario[] = [
  scenario(1, 64, 0.8, 'Clients that wait for each response, as over HTTP/1.1.'),
  scenario(100, 4, 0.6, 'Clients that ask for much at once, as pages do.'),
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
      const entrants = everyone(bench, job, {
        without: ['http-proxy-3', 'Fastify'],
        quick: ['Weir', 'Envoy', 'nginx', 'HAProxy'],
      });
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
