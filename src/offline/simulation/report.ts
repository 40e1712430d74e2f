import { nameOf, type RoutePattern, wildcardOf } from '../../config/routing/index.ts';
import type { FoundInLogs } from './findings.ts';
import type { Replayed } from './replay.ts';
import type { TallyRow } from './tally.ts';

/** The result of `weir simulate`, as shown in its text and its JSON. */
export type Report = ReturnType<typeof simulationReport>;

export function simulationReport(
  replayed: Replayed,
  patterns: readonly RoutePattern[],
  { store, top }: { readonly store: 'memory' | 'redis'; readonly top: number },
) {
  const { tally, shapes, restrictions, patience, blocksCallers, enforcesShares } = replayed;
  const { rows } = tally;
  const sum = (of: (row: TallyRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    from: new Date(tally.startMs).toISOString(),
    to: new Date(tally.endMs).toISOString(),
    requests: sum(row => row.requests),
    refused: { before: sum(row => row.refused.before), after: sum(row => row.refused.after) },
    buckets: rows
      .toSorted((a, b) => b.refused.after - a.refused.after || b.requests - a.requests)
      .map(row => bucketReport(row, top)),
    log: { ...logReportOf(replayed, store), unnamed: tally.unnamed, restarts: replayed.restarts },
    restrictions,
    patience,
    blocksCallers,
    enforcesShares,
    unanswered: findUnanswered(patterns, shapes),
  };
}

/** Requests of one caller class to one bucket. `most`: the callers that the tested limits refuse most. */
function bucketReport(row: TallyRow, top: number) {
  const callers = [...row.callers];
  const most = callers
    .filter(([, { after }]) => after > 0)
    .sort(([, a], [, b]) => b.after - a.after)
    .slice(0, top);
  return {
    bucket: row.bucket,
    class: row.callerClass,
    requests: row.requests,
    refused: row.refused,
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

export type LogReport = ReturnType<typeof logReportOf>;

/** What was read from the logs, as shown in text and JSON. */
export function logReportOf(
  { counts, instances, ambiguous, early, unseen }: FoundInLogs,
  store: 'memory' | 'redis',
) {
  const { lines, other: others, broken, torn } = counts;
  return {
    lines,
    others,
    broken,
    early: counts.early + early,
    ambiguous,
    gateways: instances,
    store,
    torn,
    unseen,
  };
}

export type Unanswered = ReturnType<typeof findUnanswered>[number];

const VALUE = '{}';

/**
 * Finds the routes that a replay cannot judge. The log shows only the hosts and literal segments that were configured when it was
 * written; any other segment is a pseudonym, and any other host its wildcard, or missing. So something new in limits.yaml may be
 * one of these.
 *
 * @param shapes requests by method, host and path, with `{}` for each pseudonym
 */
export function findUnanswered(patterns: readonly RoutePattern[], shapes: ReadonlyMap<string, number>) {
  const seen: Set<string>[] = [];
  const hosts = new Set<string>();
  const split = [...shapes].map(([shape, requests]) => {
    const [, method = '', host = '', path = ''] = /^(\S+) ([^/]*)\/(.*)$/.exec(shape) ?? [];
    const segments = path.split('/');
    hosts.add(host);
    segments.forEach((segment, at) => {
      seen[at] ??= new Set();
      seen[at].add(segment);
    });
    return { method, host, segments, requests };
  });
  return patterns.flatMap(pattern => {
    const { host, methods, segments } = pattern;
    const isNewHost = host !== null && !hosts.has(host);
    const isNew = (at: number, word: string) => seen[at]?.has(word) !== true;
    const at = segments.findIndex((each, i) => each.kind === 'literal' && isNew(i, each.folded));
    const segment = segments[at];
    const word = segment?.kind === 'literal' ? segment.folded : isNewHost ? host : null;
    if (word === null) return [];
    const isOfHost = (named: string) =>
      host === null || named === host || (isNewHost && (named === '' || named === wildcardOf(host)));
    const takes = (shape: (typeof split)[number]) =>
      isOfHost(shape.host) &&
      (methods === null || methods.includes(shape.method)) &&
      mayTake(segments, shape.segments, isNew);
    const requests = split.reduce((sum, shape) => sum + (takes(shape) ? shape.requests : 0), 0);
    return requests === 0 ? [] : [{ path: nameOf({ ...pattern, methods: null }), word, requests }];
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
