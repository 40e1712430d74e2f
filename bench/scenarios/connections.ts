import { type Comparison, compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import type { Aim } from '../report/result.ts';
import { besideEnvoy, everyone, findingsOf, peakOfWeir, planOf, type Scenario } from './scenario.ts';

/** 64 connections are those of the pipeline. */
export const connections: readonly Scenario[] = [
  scenario(
    1,
    'One client that waits for each response: the work of a single request, with nothing to share it with.',
    () => [],
  ),
  scenario(1_000, 'Many clients at once.', comparison => [
    besideEnvoy(comparison, 0.6),
    peakOfWeir(comparison, 180),
  ]),
];

function scenario(count: number, meaning: string, aimsOf: (comparison: Comparison) => Aim[]): Scenario {
  return {
    id: `connections-${count}`,
    title: count === 1 ? '1 connection' : `${count.toLocaleString('en')} connections`,
    meaning,
    quick: false,
    async run(bench) {
      const plan = planOf(bench, { connections: count });
      const comparison = await compare(bench, everyone(bench, PIPELINE), plan);
      return findingsOf(comparison, 'GET, 100 bytes, 900-byte token, two limits', aimsOf(comparison));
    },
  };
}
