import { type Comparison, compare, type Entrant } from '../measure/compare.ts';
import { FORWARDING, PIPELINE } from '../peers/job.ts';
import { emptyNode } from '../peers/node-peers.ts';
import { weir } from '../peers/weir.ts';
import type { Aim } from '../report/result.ts';
import { everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

const EMPTY: Entrant = { name: emptyNode.name, peer: emptyNode, job: FORWARDING, expect: 'success' };

export const refusals: Scenario = {
  id: 'refusals',
  title: 'Refusals: 429',
  meaning:
    'A client that keeps sending after its limit is spent. The cheaper the refusals, the more of them the gateway can take.',
  quick: true,
  async run(bench) {
    const entrants = everyone(
      bench,
      { ...PIPELINE, limits: 'spent' },
      { without: ['http-proxy-3'], quick: ['Weir'] },
    );
    const comparison = await compare(bench, [...entrants, EMPTY], planOf(bench, { expect: 'refusal' }));
    return findingsOf(comparison, 'GET with a known token, the limit is spent', [againstEmpty(comparison)]);
  },
};

export const restricted: Scenario = {
  id: 'restricted',
  title: 'Restricted addresses',
  meaning: 'An address that made too many invalid requests is refused everything for a while.',
  quick: false,
  async run(bench) {
    const job = { ...PIPELINE, weir: { ...PIPELINE.weir, restrictAfter: 1 } };
    // The first requests have no valid token and trigger the restriction, which then applies to all.
    const plan = planOf(bench, { expect: 'refusal', headers: { Authorization: 'Bearer nonsense' } });
    const comparison = await compare(bench, [{ name: 'Weir', peer: weir, job }, EMPTY], plan);
    return findingsOf(comparison, 'GET from a restricted address', [againstEmpty(comparison)]);
  },
};

export const invalidTokens: Scenario = {
  id: 'invalid-tokens',
  title: 'Invalid tokens: 401',
  meaning: 'A broken client that sends something that is not a token, over and over.',
  quick: false,
  async run(bench) {
    const entrants = everyone(bench, PIPELINE, { without: ['nginx', 'HAProxy', 'http-proxy-3', 'Fastify'] });
    const plan = planOf(bench, { expect: 'refusal', headers: { Authorization: 'Bearer nonsense' } });
    const comparison = await compare(bench, [...entrants, EMPTY], plan);
    return findingsOf(comparison, 'GET with a malformed token');
  },
};

function againstEmpty(comparison: Comparison): Aim {
  return {
    what: 'CPU, Weir to an empty Node server',
    max: 1.3,
    figure: comparison.ratio('Weir', EMPTY.name),
  };
}
