import { compare } from '../measure/compare.ts';
import { PIPELINE } from '../peers/job.ts';
import { everyone, findingsOf, planOf, type Scenario } from './scenario.ts';

/** 64 connections are those of the pipeline. */
export const connections: readonly Scenario[] = [
  scenario(
    1,
    'One client that waits for each response: the work of a single request, with nothing to share it with.',
  ),
  scenario(1_000, 'Many clients at once.'),
];

function scenario(count: number, meaning: string): Scenario {
  return {
    id: `connections-${count}`,
    title: count === 1 ? '1 connection' : `${count.toLocaleString('en')} connections`,
    meaning,
    quick: false,
    async run(bench) {
      const comparison = await compare(
        bench,
        everyone(bench, PIPELINE),
        planOf(bench, { connections: count }),
      );
      return findingsOf(comparison, 'GET, 100 bytes, 900-byte token, two limits');
    },
  };
}
