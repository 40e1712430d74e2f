import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { requestText } from '../load/connection.ts';
import { pacedLatency } from '../load/paced.ts';
import { compare, type Entrant } from '../measure/compare.ts';
import { figuresOf } from '../measure/figures.ts';
import { envoy } from '../peers/envoy.ts';
import { haproxy } from '../peers/haproxy.ts';
import { FORWARDING, type Job } from '../peers/job.ts';
import { nginx } from '../peers/nginx.ts';
import { weir, weirBefore } from '../peers/weir.ts';
import type { Row } from '../report/result.ts';
import { freePort, type Part, startNode } from '../world/part.ts';
import { besideEnvoy, findingsOf, planOf, type Scenario } from './scenario.ts';

const SERVER = join(import.meta.dirname, '../servers/upstream.ts');
/** What the slow endpoint takes for each response. */
const DELAY_MS = 100;
const PER_SECOND = 1_000;
/** How much dearer a request may be for the choice of an endpoint. */
const NO_DEARER = 1.15;

const BALANCERS = [weir, envoy, nginx, haproxy];

export const balance: Scenario = {
  id: 'balance',
  title: 'Three endpoints',
  meaning:
    'A service runs on three machines. The gateway chooses one for each request, which costs some processor time.',
  quick: false,
  async run(bench) {
    const endpoints = await startEndpoints([0, 0, 0]);
    const options = { manyRounds: true };
    const comparison = await compare(bench, entrantsFor(bench, endpoints), planOf(bench), options);
    await stop(endpoints);
    return findingsOf(comparison, 'GET, 100 bytes; to the endpoint with few requests in flight', [
      {
        what: 'CPU, Weir with three endpoints to Weir with one',
        max: NO_DEARER,
        figure: comparison.ratio('Weir', 'Weir, one endpoint'),
      },
      besideEnvoy(comparison, null),
      { what: 'CPU, Weir to HAProxy', max: null, figure: comparison.ratio('Weir', 'HAProxy') },
    ]);
  },
};

export const slowEndpoint: Scenario = {
  id: 'slow-endpoint',
  title: 'Three endpoints, of which one is slow',
  meaning:
    'One of three machines takes a hundred times as long as the others, and does not fail. What counts is how many requests it gets.',
  quick: false,
  async run(bench) {
    const endpoints = await startEndpoints([0, 0, DELAY_MS]);
    const entrants = entrantsFor(bench, endpoints).filter(({ name }) => name !== 'Weir, one endpoint');
    const installed = entrants.filter(({ peer }) => peer.version() !== null);
    const running = await Promise.all(
      installed.map(async entrant => ({
        ...entrant,
        part: await bench.start(entrant.peer, entrant.job),
        latencies: [] as { readonly p50: number; readonly p99: number; readonly slow: number }[],
      })),
    );
    const { rounds, seconds } = bench.settings;
    const plan = planOf(bench);
    const pace = { perSecond: PER_SECOND, seconds, connections: 256 };
    // The first round finds connections to open and code to compile.
    await bench.inRounds(running, 1 + rounds, async ({ part, latencies }, round) => {
      const before = await requestsAt(endpoints);
      const { p50, p99 } = await pacedLatency(part.port, requestText(plan.path, {}), pace);
      const counts = (await requestsAt(endpoints)).map((count, index) => count - (before[index] ?? 0));
      const slow = (counts.at(-1) ?? 0) / counts.reduce((sum, count) => sum + count, 0);
      if (round > 0) latencies.push({ p50: p50 / 1_000, p99: p99 / 1_000, slow: slow * 100 });
    });
    const rows: Row[] = running.map(({ name, latencies }) => ({ name, figures: figuresOf(latencies) }));
    await bench.stopAll();
    await stop(endpoints);
    const how = `GET, 100 bytes, ${PER_SECOND.toLocaleString('en')} requests a second at a constant rate, ${rounds} rounds of ${seconds} s in turns; the slow endpoint answers after ${DELAY_MS} ms`;
    return {
      ...{ how, rows },
      columns: [
        { id: 'p50', label: 'p50 ms', digits: 1 },
        { id: 'p99', label: 'p99 ms', digits: 1 },
        { id: 'slow', label: 'at the slow endpoint, %', digits: 1 },
      ],
      aims: [
        {
          what: 'Weir, requests at the slow endpoint, %',
          max: 10,
          figure: rows.find(({ name }) => name === 'Weir')?.figures['slow'] ?? null,
        },
      ],
      notes: [`In turns, a third of all requests would take ${DELAY_MS} ms.`],
    };
  },
};

/** Starts the endpoints of a service, each with so many milliseconds for a response. */
function startEndpoints(delaysMs: readonly number[]): Promise<Part[]> {
  return Promise.all(
    delaysMs.map(async delayMs => startNode(SERVER, await freePort(), { DELAY_MS: `${delayMs}` })),
  );
}

function requestsAt(endpoints: readonly Part[]): Promise<number[]> {
  return Promise.all(
    endpoints.map(async ({ port }) => Number(await (await fetch(`http://127.0.0.1:${port}/count`)).text())),
  );
}

async function stop(endpoints: readonly Part[]): Promise<void> {
  await Promise.all(endpoints.map(endpoint => endpoint.stop()));
}

function entrantsFor({ settings: { peers, before } }: Bench, endpoints: readonly Part[]): Entrant[] {
  const endpointPorts = endpoints.map(({ port }) => port);
  const job: Job = { ...FORWARDING, endpointPorts };
  const one: Job = { ...FORWARDING, endpointPorts: endpointPorts.slice(0, 1) };
  const earlier = before === null ? [] : [weirBefore(before)];
  const all = [...earlier, ...BALANCERS].map(peer => ({ name: peer.name, peer, job }));
  return [...all, { name: 'Weir, one endpoint', peer: weir, job: one }].filter(
    ({ name, peer }) => name === 'Weir before' || peers === null || peers.includes(peer.name),
  );
}
