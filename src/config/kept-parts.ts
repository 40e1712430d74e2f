import type { Kept } from '../core/index.ts';
import type { BucketLabels, LabelModel } from '../observe/index.ts';
import type { BucketConfig, KeptLimits, KeptLines, LimitsConfig } from './limits/index.ts';
import type { BucketModel, OwnRoute, RouteModel, RouteOfFile } from './model/index.ts';
import type { UpstreamModel } from './policies/index.ts';
import type { PathWords, RouteEntry, RoutePattern, RouteTable } from './routing/index.ts';

// What the next configuration takes over where nothing changed, so that one number costs one bucket: compiled parts, each with all
// that it was made from (`reuse`).

/** What settings of gateway.yaml keep. */
export interface KeptModels {
  /** The upstreams, by all that routes depend on and that is not written in each. If it changes, every route is compiled again. */
  readonly keptUpstreams: Kept<unknown, ReadonlyMap<string, UpstreamModel>>;
  readonly keptRoutes: KeptRoutes;
  /** By the routes of gateway.yaml and the gateway's own. */
  readonly keptTable: Kept<readonly RouteEntry<RouteModel>[], RouteTable<RouteModel>>;
  readonly keptPreflights: Kept<readonly RouteEntry<RouteOfFile>[], RouteTable<RouteOfFile>>;
  readonly keptLines: KeptLines;
  readonly keptLimits: KeptLimits;
  /** The literals of the patterns of all routes, of lines and of the gateway's own. */
  readonly keptWords: Kept<readonly RoutePattern[], PathWords>;
}

/** What is kept besides. */
export interface KeptParts {
  readonly items: KeptItems;
  readonly ownRoutes: Kept<readonly RouteEntry<OwnRoute>[], readonly RouteEntry<OwnRoute>[]>;
  readonly labels: KeptLabels;
}

/** The buckets and lines of limits.yaml. */
export interface KeptItems {
  readonly buckets: NamedItems<BucketConfig>;
  readonly lines: NamedItems<LimitsConfig['routes'][string]>;
}

/** Items as name and value, in file order. */
export interface NamedItems<Value> {
  readonly bytes: Uint8Array;
  /** By digests of name and value. */
  readonly byKey: ReadonlyMap<string, readonly [string, Value]>;
  readonly byName: Readonly<Record<string, Value>>;
}

/** The routes of gateway.yaml, each read once it is needed. */
export interface RouteItems {
  readonly bytes: Uint8Array;
  all(): Iterable<{ readonly key: string; read(): unknown }>;
}

/** The routes of gateway.yaml. */
export interface KeptRoutes {
  readonly bytes: Uint8Array;
  /** By digests of what is written. */
  readonly byKey: ReadonlyMap<string, Kept<string, readonly RouteEntry<RouteOfFile>[]>>;
  /** In file order. */
  readonly all: readonly (readonly RouteEntry<RouteOfFile>[])[];
  /** The same as one list: a route has an entry for each of its hosts. */
  readonly entries: readonly RouteEntry<RouteOfFile>[];
}

/** Labels, with what they were made from. */
export interface KeptLabels {
  /** The same object where nothing changed. */
  readonly model: Kept<LabelModel, LabelModel>;
  readonly ofRoutes: Kept<readonly unknown[], LabelsOfRoutes>;
  readonly ofBuckets: Kept<unknown, ReadonlyMap<BucketModel, readonly BucketLabels[]>>;
}

type LabelsOfRoutes = Pick<LabelModel, 'routes' | 'webSocketUpstreams' | 'introspects'>;
