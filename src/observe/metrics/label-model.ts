import type * as core from '../../core/index.ts';
import {
  CALL_PROTOCOLS,
  GATEWAY_CAPS,
  INVALID_REASONS,
  OUT_REASONS,
  PRICE_OUTCOMES,
  RESTRICTION_REASONS,
  RESTRICTS,
  RpcCode,
  rpcCodeName,
  SIGNATURE_ALGORITHMS,
  type Steps,
  traitsOf,
  UPSTREAM_CAPS,
} from '../../core/index.ts';

/**
 * The label values that the configuration makes possible. Their series exist from startup, so that Prometheus sees the first
 * event as an increase.
 */
export interface LabelModel {
  /** The routes, and "none" for requests without one. */
  readonly routes: readonly RouteLabels[];
  readonly upstreams: readonly string[];
  /** The upstreams of routes that serve WebSockets. */
  readonly webSocketUpstreams: readonly string[];
  /** The buckets, and "none" for requests without one. */
  readonly buckets: readonly BucketLabels[];
  /** Listeners with certificates, by their keys under `listen`. */
  readonly tlsListeners: readonly string[];
  /** The names of the identity providers: `[null]` for a single one, which has no name. `null` if there are none. */
  readonly providers: readonly (string | null)[] | null;
  /** Whether providers are asked about tokens: for a route, or about opaque ones. */
  readonly introspects: boolean;
  /** Whether there is an endpoint for refreshing tokens. */
  readonly refreshes: boolean;
  /** Whether there is an endpoint for signing out. */
  readonly signsOut: boolean;
  /** Whether tokens may be bound to a key. */
  readonly dpop: boolean;
  /** The notices that providers may send to the gateway. */
  readonly notices: readonly core.NoticeKind[];
  /** Whether durations of requests are broken down by route. */
  readonly routeDurations: boolean;
}

export interface RouteLabels {
  readonly route: string;
  /** "none" if the gateway itself answers. */
  readonly upstream: string;
  readonly protocols: readonly core.Protocol[];
  /** How requests commonly end: a status and an outcome. */
  readonly endings: readonly Ending[];
}

export type Ending = readonly [status: string, outcome: core.Outcome];

export interface BucketLabels {
  readonly bucket: string;
  readonly callerClass: string;
  /** The outcomes of its decisions, each with the period of the window that refuses; `''` where a limit has one window. */
  readonly outcomes: readonly (readonly [outcome: string, period: string])[];
  /** The periods of windows that may be nearly used up, in the same form. */
  readonly periods: readonly string[];
  readonly inShadow: readonly string[];
  /** Whether responses name what requests cost. */
  readonly isPriced: boolean;
}

/** A count or a histogram with a part for each value of the next label. Its innermost parts are series. */
export interface SeriesTree<Part> {
  readonly parts: Map<string, Part>;
  of(value: string): Part;
}

/** One row for each series: the values of its labels. */
export type Rows = Iterable<readonly string[]>;

/**
 * Maximum lines of one metric that are prepared: a scrape of many thousand zeros would cost more than it is worth. Other series
 * appear with their first event.
 */
export const MAX_PREPARED_LINES = 5_000;

/**
 * Shows these series from now on, and drops those of a removed route, bucket or upstream.
 *
 * @param rows label values, a row per series. Read once: a generator never holds the hundred thousand rows of ten thousand routes
 * @param at the index of the label for something configured: series whose value is in no row are dropped; -1 if none are
 * @param linesEach lines per series in a scrape. Default 1
 */
export function* prepareSeries<Part extends SeriesTree<Part>>(
  root: Part,
  rows: Rows,
  at: number,
  linesEach = 1,
): Steps<void> {
  const known = new Set<string>();
  const first: (readonly string[])[] = [];
  const max = Math.floor(MAX_PREPARED_LINES / linesEach);
  for (const row of rows) {
    known.add(row[at] ?? '');
    if (first.length <= max) first.push(row);
    yield;
  }
  if (at >= 0) dropOthers(root, at, known);
  if (first.length > max) return;
  for (const row of first) {
    row.reduce((part, value) => part.of(value), root);
    yield;
  }
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

// The series that a configuration makes possible, as rows of label values.

/** Yields how requests of each route commonly end. */
export function* requestRows({ routes }: LabelModel): Rows {
  for (const { route, protocols, endings } of routes)
    for (const [status, outcome] of endings)
      for (const protocol of protocols) yield [route, status, outcome, protocol];
}

const CODES = [...Object.values(RpcCode).map(rpcCodeName), 'none'];

export function* callRows({ routes }: LabelModel): Rows {
  for (const { route, protocols } of routes)
    if (protocols.some(protocol => CALL_PROTOCOLS.has(protocol)))
      for (const code of CODES) yield [route, code];
}

/**
 * Yields each upstream and `none`, which is for the gateway's own responses. If durations are broken down by route, yields these
 * for each route.
 */
export function* durationRows({ routes, upstreams, routeDurations }: LabelModel): Rows {
  if (!routeDurations) for (const upstream of ['none', ...upstreams]) yield [upstream];
  else
    for (const { route, upstream } of routes)
      for (const each of new Set(['none', upstream])) yield [each, route];
}

/** Returns which side can be at fault for which upstream; `none` is for errors without an upstream. */
export function errorRows({ upstreams }: LabelModel): Rows {
  return [
    ...['client', 'gateway', 'provider', 'store'].map(side => [side, 'none']),
    ...upstreams.flatMap(upstream => ['client', 'gateway', 'upstream'].map(side => [side, upstream])),
  ];
}

/** The classes of upstreams' responses; `none` if there was none. */
export const RESPONSE_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;

export function responseRows({ upstreams }: LabelModel): Rows {
  return upstreams.flatMap(upstream => RESPONSE_CLASSES.map(each => [upstream, each]));
}

/** Yields why endpoints of each upstream may be out. */
export function* endpointRows({ upstreams }: LabelModel): Rows {
  for (const upstream of upstreams) for (const reason of OUT_REASONS) yield [upstream, reason];
}

export function capRows({ upstreams }: LabelModel): Rows {
  return [
    ...GATEWAY_CAPS.map(cap => [cap, 'none']),
    ...upstreams.flatMap(upstream => UPSTREAM_CAPS.map(cap => [cap, upstream])),
  ];
}

export function* decisionRows({ buckets }: LabelModel): Rows {
  for (const { bucket, callerClass, outcomes } of buckets)
    for (const outcome of outcomes) yield [bucket, callerClass, ...outcome];
}

export function* shadowRows({ buckets }: LabelModel): Rows {
  for (const { bucket, callerClass, inShadow } of buckets)
    for (const by of inShadow) yield [bucket, callerClass, by];
}

export function priceRows({ buckets }: LabelModel): Rows {
  const priced = new Set(buckets.flatMap(({ bucket, isPriced }) => (isPriced ? [bucket] : [])));
  return [...priced].flatMap(bucket => PRICE_OUTCOMES.map(outcome => [bucket, outcome]));
}

export function* nearRows({ buckets }: LabelModel): Rows {
  for (const { bucket, callerClass, periods } of buckets)
    for (const period of periods) yield [bucket, callerClass, period];
}

export function restrictionRefusalRows({ buckets }: LabelModel): Rows {
  return [...new Set(buckets.map(({ callerClass }) => callerClass))].flatMap(callerClass =>
    refusalsOf(callerClass).map(why => [callerClass, why]),
  );
}

/**
 * Returns why a class of callers may be refused before its limits are checked. A restriction at a webhook always refuses an
 * address.
 */
function refusalsOf(callerClass: string): readonly core.RestrictionRefusal['why'][] {
  const concerns = (reason: core.RestrictionReason) =>
    callerClass === 'address' || RESTRICTS[reason].some(kind => kind === 'principal');
  return [...RESTRICTION_REASONS.filter(concerns), 'blocked'];
}

/** Returns what can be restricted for these reasons, as rows of kind and reason. */
export function certainRestrictions(reasons: readonly core.RestrictionReason[]): Rows {
  return reasons.flatMap(reason => RESTRICTS[reason].map(kind => [kind, reason]));
}

export const TOKEN_OUTCOMES = ['known', 'verified', 'refused', 'undecided', 'put_off'] as const;

/** The label value for tokens whose provider is unknown or not configured. */
const NO_PROVIDER = 'none';

/** Combines each provider with each of the words. A single provider has no name, and its series have no such label. */
export function perProvider({ providers }: LabelModel, words: readonly string[]): string[][] {
  return (providers ?? []).flatMap(provider => words.map(word => [provider ?? '', word]));
}

export function tokenRows(model: LabelModel): Rows {
  const ofProviders = perProvider(model, TOKEN_OUTCOMES);
  return hasSeveralProviders(model) ? [...ofProviders, [NO_PROVIDER, 'refused']] : ofProviders;
}

export function refusalRows(model: LabelModel): Rows {
  const reasons = reasonsOf(model);
  const others = hasSeveralProviders(model) ? reasons.map(reason => [NO_PROVIDER, reason]) : [];
  return [...perProvider(model, reasons), ...others];
}

/** Without DPoP, no token is refused for its proof. */
export function reasonsOf({ dpop }: LabelModel): readonly core.InvalidReason[] {
  return dpop ? INVALID_REASONS : INVALID_REASONS.filter(reason => !traitsOf(reason).ofProof);
}

export function checkRows(model: LabelModel): Rows {
  return perProvider(model, SIGNATURE_ALGORITHMS).flatMap(row => [
    [...row, 'true'],
    [...row, 'false'],
  ]);
}

function hasSeveralProviders({ providers }: LabelModel): boolean {
  return providers !== null && providers.length > 1;
}
