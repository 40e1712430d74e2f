import type { NoticeKind, Outcome, Protocol } from '../../core/index.ts';

/** The label values that a configuration makes possible: their series exist from the start, so that a first event is a rate. */
export interface LabelModel {
  /** The routes, and "none" for requests without one. */
  readonly routes: readonly RouteLabels[];
  readonly upstreams: readonly string[];
  /** The upstreams of routes that take WebSockets. */
  readonly webSocketUpstreams: readonly string[];
  /** The buckets, and "none" for requests without one. */
  readonly buckets: readonly BucketLabels[];
  /** Listeners with certificates, by their keys under `listen`. */
  readonly tlsListeners: readonly string[];
  /** The names of the identity providers: `[null]` for a single one, which has no name. `null` if there are none. */
  readonly providers: readonly (string | null)[] | null;
  /** Whether a route asks providers about tokens. */
  readonly introspects: boolean;
  /** Whether there is an endpoint to refresh tokens. */
  readonly refreshes: boolean;
  /** Whether there is an endpoint to sign out. */
  readonly signsOut: boolean;
  /** What providers may tell the gateway. */
  readonly notices: readonly NoticeKind[];
  /** Whether durations of requests are told apart by route too. */
  readonly routeDurations: boolean;
}

export interface RouteLabels {
  readonly route: string;
  /** "none": the gateway answers by itself. */
  readonly upstream: string;
  readonly protocols: readonly Protocol[];
  /** How requests commonly end: a status and an outcome. */
  readonly endings: readonly Ending[];
}

export type Ending = readonly [status: string, outcome: Outcome];

export interface BucketLabels {
  readonly bucket: string;
  readonly callerClass: string;
  readonly outcomes: readonly string[];
  /** The limits that are in shadow. */
  readonly inShadow: readonly string[];
}

/** What series hang on: a tally or a histogram, with a part for each value of the next label. */
interface SeriesTree<Part> {
  readonly parts: Map<string, Part>;
  of(value: string): Part;
}

/** Label values of series. */
export type Rows = Iterable<readonly string[]>;

/**
 * More lines of one metric are not prepared: a scrape of many thousand lines that are 0 would cost more than it tells. Those
 * series appear with their first event.
 */
export const MAX_PREPARED_LINES = 5_000;

/**
 * Shows these series from now on, and drops those of a removed route, bucket or upstream.
 *
 * @param rows label values, a row per series. Read once: generators never hold the hundred thousand rows of ten thousand routes.
 * @param at which label names something configured: series whose value is in no row are dropped
 * @param linesEach lines that a series takes in a scrape. Default 1.
 */
export function prepareSeries<Part extends SeriesTree<Part>>(
  root: Part,
  rows: Rows,
  at: number,
  linesEach = 1,
): void {
  const known = new Set<string>();
  const first: (readonly string[])[] = [];
  const max = Math.floor(MAX_PREPARED_LINES / linesEach);
  for (const row of rows) {
    known.add(row[at] ?? '');
    if (first.length <= max) first.push(row);
  }
  dropOthers(root, at, known);
  if (first.length > max) return;
  for (const row of first) row.reduce((part, value) => part.of(value), root);
}

function dropOthers<Part extends SeriesTree<Part>>(
  { parts }: Part,
  at: number,
  known: ReadonlySet<string>,
): void {
  for (const [value, part] of parts) {
    if (at > 0) dropOthers(part, at - 1, known);
    else if (!known.has(value)) parts.delete(value);
  }
}
