import { isDeepStrictEqual } from 'node:util';
import type { Report } from './result.ts';

/**
 * Replaces some scenarios of a report by those of a later run and adds those it lacked, in `order` (the ids of all scenarios).
 * Throws if machine or versions differ: the figures would look comparable and would not be.
 */
export function amended(report: Report, later: Report, order: readonly string[]): Report {
  if (!isDeepStrictEqual(surroundings(report), surroundings(later)))
    throw new Error('what is published is of another machine, mode or version: run all scenarios');
  const found = new Map([...report.results, ...later.results].map(result => [result.id, result]));
  return { ...report, results: order.flatMap(id => found.get(id) ?? []) };
}

function surroundings({ mode, machine, versions }: Report): unknown {
  const { processor, cores, system } = machine;
  return { mode, processor, cores, system, versions };
}
