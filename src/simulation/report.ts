import type { RoutePattern } from '../routing/index.ts';
import type { ReadCounts } from './log/index.ts';
import type { Replayed } from './replay.ts';
import type { RestrictionReport } from './restriction-ledger.ts';
import type { CallerCount, TallyRow } from './tally.ts';

/** What a replay found, for people and programs. */
export interface Report {
  readonly from: string;
  readonly to: string;
  readonly requests: number;
  readonly refused: { readonly before: number; readonly after: number };
  readonly buckets: readonly BucketReport[];
  readonly log: LogReport & {
    /** Requests of callers beyond those told apart. */
    readonly unnamed: number;
    /** How often a gateway began anew, because there are too many for all of their counters to be held. */
    readonly restarts: number;
  };
  readonly restrictions: RestrictionReport;
  /** Refused requests that would first be held, for at most this; null: `patience` is off. */
  readonly patience: { readonly forMs: number; readonly requests: number } | null;
  /** Whether limits.yaml blocks callers, of whom the log has pseudonyms only: those count who were blocked when it was written. */
  readonly blocksCallers: boolean;
  /** Whether a bucket of limits.yaml holds for a share of callers: the share of their pseudonyms in the log is another. */
  readonly enforcesShares: boolean;
  readonly unanswered: readonly Unanswered[];
}

/** Requests of one class on one bucket. */
interface BucketReport {
  /** The bucket; `null` for the global limit alone. */
  readonly bucket: string | null;
  readonly class: string;
  readonly requests: number;
  readonly refused: {
    readonly before: number;
    readonly after: number;
    readonly afterByGlobal: number;
    readonly afterByBlocked: number;
    readonly beforeByRestriction: number;
    readonly afterByRestriction: number;
  };
  readonly callers: { readonly all: number; readonly hitBefore: number; readonly hitAfter: number };
  /** The minute with the most refusals; `null` if none was refused. */
  readonly worstMinute: { readonly at: string; readonly refused: number } | null;
  /** The callers refused most by the limits that are tried. */
  readonly most: readonly ({ readonly caller: string } & CallerCount)[];
}

export function simulationReport(
  replayed: Replayed,
  patterns: readonly RoutePattern[],
  { store, top }: { readonly store: 'memory' | 'redis'; readonly top: number },
): Report {
  const { tally, shapes } = replayed;
  const { rows } = tally;
  const sum = (of: (row: TallyRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    from: new Date(tally.startMs).toISOString(),
    to: new Date(tally.endMs).toISOString(),
    requests: sum(row => row.requests),
    refused: { before: sum(row => row.before), after: sum(row => row.after) },
    buckets: rows
      .toSorted((a, b) => b.after - a.after || b.requests - a.requests)
      .map(row => bucketReport(row, top)),
    log: { ...logReportOf(replayed, store), unnamed: tally.unnamed, restarts: replayed.restarts },
    restrictions: replayed.restrictions,
    patience: replayed.patience,
    blocksCallers: replayed.blocksCallers,
    enforcesShares: replayed.enforcesShares,
    unanswered: findUnanswered(patterns, shapes),
  };
}

function bucketReport(row: TallyRow, top: number): BucketReport {
  const callers = [...row.callers];
  const most = callers
    .filter(([, { after }]) => after > 0)
    .sort(([, a], [, b]) => b.after - a.after)
    .slice(0, top);
  return {
    bucket: row.bucket,
    class: row.callerClass,
    requests: row.requests,
    refused: {
      before: row.before,
      after: row.after,
      afterByGlobal: row.afterByGlobal,
      afterByBlocked: row.afterByBlocked,
      beforeByRestriction: row.beforeByRestriction,
      afterByRestriction: row.afterByRestriction,
    },
    callers: {
      all: callers.length,
      hitBefore: callers.filter(([, { before }]) => before > 0).length,
      hitAfter: callers.filter(([, { after }]) => after > 0).length,
    },
    worstMinute:
      row.worst.refused === 0
        ? null
        : { at: new Date(row.worst.startMs).toISOString(), refused: row.worst.refused },
    most: most.map(([caller, count]) => ({ caller, ...count })),
  };
}

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
interface FoundInLogs {
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

/** A word of a route that the log does not tell from values. */
export interface Unanswered {
  /** The path as written in limits.yaml, without its methods. */
  readonly path: string;
  readonly word: string;
  /** Requests that the route may take. */
  readonly requests: number;
}

const VALUE = '{}';

/**
 * Finds what a replay cannot answer: the log shows those words of a path that were configured when it was written, and a
 * pseudonym in place of any other. So a new word may hide behind a pseudonym.
 *
 * @param shapes requests by method and path, with `{}` for each pseudonym
 */
export function findUnanswered(
  patterns: readonly RoutePattern[],
  shapes: ReadonlyMap<string, number>,
): Unanswered[] {
  const seen: Set<string>[] = [];
  const split = [...shapes].map(([shape, requests]) => {
    const space = shape.indexOf(' ');
    const segments = shape.slice(space + 2).split('/');
    segments.forEach((segment, at) => {
      seen[at] ??= new Set();
      seen[at].add(segment);
    });
    return { method: shape.slice(0, space), segments, requests };
  });
  return patterns.flatMap(({ path, methods, segments }) => {
    const isNew = (at: number, word: string) => seen[at]?.has(word) !== true;
    const at = segments.findIndex((each, i) => each.kind === 'literal' && isNew(i, each.folded));
    const word = segments[at];
    if (word?.kind !== 'literal') return [];
    const takes = (shape: (typeof split)[number]) =>
      (methods === null || methods.includes(shape.method)) && mayTake(segments, shape.segments, isNew);
    const requests = split.reduce((sum, shape) => sum + (takes(shape) ? shape.requests : 0), 0);
    return requests === 0 ? [] : [{ path, word: word.folded, requests }];
  });
}

function mayTake(
  pattern: RoutePattern['segments'],
  path: readonly string[],
  isNew: (at: number, word: string) => boolean,
): boolean {
  const hasRest = pattern.at(-1)?.kind === 'tail';
  const fixed = hasRest ? pattern.length - 1 : pattern.length;
  const length = path.at(-1) === '' ? path.length - 1 : path.length;
  if (hasRest ? length < fixed : length !== fixed) return false;
  return pattern.slice(0, fixed).every((each, at) => {
    if (each.kind !== 'literal') return true;
    return path[at] === each.folded || (path[at] === VALUE && isNew(at, each.folded));
  });
}
