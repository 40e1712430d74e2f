import type { ReadCounts } from './log/index.ts';

/** What was read of the logs, for people and programs. */
export interface LogReport {
  readonly lines: number;
  readonly others: number;
  readonly broken: number;
  /** Requests refused with 429 before the limits were asked: by a restriction, or as blocked. */
  readonly early: number;
  readonly ambiguous: number;
  readonly gateways: number;
  readonly store: 'memory' | 'redis';
  readonly torn: readonly string[];
}

/** What was found in them. */
export interface FoundInLogs {
  readonly counts: ReadCounts;
  readonly instances: number;
  readonly ambiguous: number;
  /** Requests left out besides those of `counts`. */
  readonly early: number;
}

export function logReportOf(
  { counts, instances, ambiguous, early }: FoundInLogs,
  store: 'memory' | 'redis',
): LogReport {
  const { lines, other: others, broken, torn } = counts;
  return { lines, others, broken, early: counts.early + early, ambiguous, gateways: instances, store, torn };
}
