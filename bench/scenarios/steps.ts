import type { Bench } from '../bench.ts';
import { type Comparison, compare, type Entrant } from '../measure/compare.ts';
import { FORWARDING, type Job, PIPELINE, routePath } from '../peers/job.ts';
import { acceptsJob, weir } from '../peers/weir.ts';
import type { Aim } from '../report/result.ts';
import { everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

const [PLAIN, KNOWN, FULL] = ['forwarding alone', 'and a known token', 'and two limits'];
const [LOGGED, REDIS] = ['the same with the access log', 'the same with Redis'];
const [TRACED, EXPORTED] = ['the same with tracing', 'the same with a tenth of the spans exported'];
const [TEN, MANY] = ['the same with 10 routes', 'the same with 10,000 routes'];
const [IN_FLIGHT, REDIS_IN_FLIGHT] = ['the same with "concurrent"', 'the same with Redis and "concurrent"'];
const HOSTS = 'the same with 10,000 hosts';

export const steps: Scenario = {
  id: 'steps',
  title: 'What each part of Weir adds',
  meaning: 'Which feature costs what, so that one knows what switching it on will mean.',
  quick: true,
  async run(bench) {
    const store = await redisEntrant(bench);
    const all = [...entrants(bench), ...store.entrants];
    const comparison = await compare(bench, all, planOf(bench), { manyRounds: true });
    const findings = findingsOf(comparison, 'GET, 100 bytes, 900-byte token', aimsOf(comparison));
    return { ...findings, notes: [...findings.notes, ...store.notes] };
  },
};

/** Many routes, beside peers with as many. */
export const manyRoutes: Scenario = {
  id: 'routes',
  title: '10,000 routes',
  meaning: 'A table of routes that was generated. The request takes the one in the middle.',
  quick: false,
  async run(bench) {
    const entrants = everyone(
      bench,
      { ...PIPELINE, routes: 10_000 },
      { without: ['http-proxy-3', 'Fastify'] },
    );
    const comparison = await compare(bench, entrants, planOf(bench, { path: `${routePath(5_000)}/7` }));
    return findingsOf(comparison, 'GET, 100 bytes, 900-byte token, two limits');
  },
};

function entrants(bench: Bench): Entrant[] {
  const entrant = (name: string, job: Job, path?: string): Entrant => ({
    name,
    peer: weir,
    job,
    ...(path === undefined ? {} : { path }),
  });
  const always = [
    entrant(PLAIN, FORWARDING),
    entrant(KNOWN, { ...FORWARDING, token: true }),
    entrant(FULL, PIPELINE),
    entrant(LOGGED, { ...PIPELINE, weir: { ...PIPELINE.weir, accessLog: true } }),
  ];
  if (bench.settings.mode === 'quick') return always;
  return [
    ...always,
    entrant(TRACED, { ...PIPELINE, weir: { ...PIPELINE.weir, tracing: 'on' } }),
    entrant(EXPORTED, { ...PIPELINE, weir: { ...PIPELINE.weir, tracing: 'exported' } }),
    entrant(IN_FLIGHT, { ...PIPELINE, weir: { ...PIPELINE.weir, concurrent: true } }),
    entrant(TEN, { ...PIPELINE, routes: 10 }, `${routePath(5)}/7`),
    entrant(MANY, { ...PIPELINE, routes: 10_000 }, `${routePath(5_000)}/7`),
    entrant(
      HOSTS,
      { ...PIPELINE, routes: 10_000, weir: { ...PIPELINE.weir, hosts: true } },
      `${routePath(5_000)}/7`,
    ),
  ];
}

async function redisEntrant(bench: Bench): Promise<{ entrants: Entrant[]; notes: string[] }> {
  const redis = bench.world.redisUrl;
  if (redis === null)
    return { entrants: [], notes: ['Redis is not installed: apt-get install redis-server'] };
  const job: Job = { ...PIPELINE, weir: { ...PIPELINE.weir, redis } };
  if (!(await acceptsJob(job, await bench.surroundings())))
    return { entrants: [], notes: ['Redis: not in this version (weir check refuses the configuration).'] };
  const leased: Job = { ...job, weir: { ...job.weir, concurrent: true } };
  const entrants = [
    { name: REDIS, peer: weir, job },
    ...(bench.settings.mode === 'quick' ? [] : [{ name: REDIS_IN_FLIGHT, peer: weir, job: leased }]),
  ];
  return { entrants, notes: [] };
}

function aimsOf(comparison: Comparison): Aim[] {
  const aim = (what: string, max: number | null, one: string, other: string): Aim => ({
    what: `${what}, µs`,
    max,
    figure: comparison.difference(one, other),
  });
  return [
    aim('a known token above plain forwarding', 2, KNOWN, PLAIN),
    aim('the whole pipeline above plain forwarding', null, FULL, PLAIN),
    aim('the access log above none', 5, LOGGED, FULL),
    aim('tracing above none', null, TRACED, FULL),
    aim('a tenth of the spans exported above none', null, EXPORTED, FULL),
    aim('10,000 routes above 10', 1, MANY, TEN),
    aim('"concurrent" above none', null, IN_FLIGHT, FULL),
    aim('Redis above memory', 12, REDIS, FULL),
    aim('"concurrent" above none, with Redis', null, REDIS_IN_FLIGHT, REDIS),
  ];
}
