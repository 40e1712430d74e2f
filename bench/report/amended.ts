import { isDeepStrictEqual } from 'node:util';
import type { Report } from './result.ts';

/**
 * A report with what a later run found of some of its scenarios. Throws where that was another machine, or other versions:
 * figures of the two would stand side by side as if they could be compared.
 */
export function amended(report: Report, later: Report): Report {
  if (!isDeepStrictEqual(surroundings(report), surroundings(later)))
    throw new Error('what is published is of another machine, mode or version: run all scenarios');
  const found = new Map(later.results.map(result => [result.id, result]));
  return { ...report, results: report.results.map(result => found.get(result.id) ?? result) };
}

function surroundings({ mode, machine, versions }: Report): unknown {
  const { processor, cores, system } = machine;
  return { mode, processor, cores, system, versions };
}
