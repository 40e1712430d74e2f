import type { NoticeKind, Outcome, Protocol } from '../../core/index.ts';

/** The label values that a configuration makes possible: their series exist from the start, so that a first event is a rate. */
export interface LabelModel {
  /** With "none", for requests without a route. */
  readonly routes: readonly RouteLabels[];
  readonly upstreams: readonly string[];
  /** Upstreams that a route leads WebSockets to. */
  readonly webSocketUpstreams: readonly string[];
  /** With "none", for requests without a bucket. */
  readonly buckets: readonly BucketLabels[];
  /** Listeners with certificates, by their keys under `listen`. */
  readonly tlsListeners: readonly string[];
  /** Names of the identity providers; null in place of the name of an only one. Null: there are none. */
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
