import type { Kept } from '../core/index.ts';
import type { PathWords, RouteEntry, RoutePattern, RouteTable } from '../gateway/routing/index.ts';
import type { BucketLabels, LabelModel } from '../observe/index.ts';
import type { BucketConfig, LimitsConfig, WrittenLines } from './limits/index.ts';
import type { BucketModel, OwnRoute, RouteModel, RouteOfFile } from './model/index.ts';
import type { UpstreamModel } from './policies/index.ts';

/**
 * What the next configuration takes over where nothing changed, so that one number costs one bucket: compiled parts, each with all
 * that it was made from (`reuse`).
 */
export interface KeptParts {
  readonly items: KeptItems;
  /** The upstreams, by all that routes depend on and that is not written in each. If it changes, every route is compiled again. */
  readonly upstreams: Kept<unknown, ReadonlyMap<string, UpstreamModel>>;
  readonly routes: KeptRoutes;
  readonly tables: KeptTables;
  /** The lines of limits.yaml as written. */
  readonly lines: WrittenLines;
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

/** The routes of gateway.yaml. */
export interface KeptRoutes {
  readonly bytes: Uint8Array;
  /** By digests of what is written. */
  readonly byKey: ReadonlyMap<string, Kept<string, readonly RouteEntry<RouteOfFile>[]>>;
  /** In file order. */
  readonly all: readonly (readonly RouteEntry<RouteOfFile>[])[];
}

/** Route tables, and the entries that they were made from. */
export interface KeptTables {
  readonly entries: readonly RouteEntry<RouteOfFile>[];
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  readonly routes: RouteTable<RouteModel>;
  readonly preflightRoutes: RouteTable<RouteOfFile>;
  /** The literals of all patterns, those of limits included, and these patterns. */
  readonly words: PathWords;
  readonly patterns: readonly RoutePattern[];
}

/** Labels, with what they were made from. */
export interface KeptLabels {
  /** The same object where nothing changed. */
  readonly model: LabelModel;
  readonly table: RouteTable<RouteModel>;
  readonly ofRoutes: Kept<unknown, LabelsOfRoutes>;
  readonly ofBuckets: Kept<unknown, ReadonlyMap<BucketModel, readonly BucketLabels[]>>;
}

type LabelsOfRoutes = Pick<LabelModel, 'routes' | 'webSocketUpstreams' | 'introspects'>;
