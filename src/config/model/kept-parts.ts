import type { Kept } from '../../core/index.ts';
import type { PathWords, RouteEntry, RoutePattern, RouteTable } from '../../gateway/routing/index.ts';
import type { BucketLabels, LabelModel } from '../../observe/index.ts';
import type { UpstreamModel } from '../policies/index.ts';
import type { BucketConfig, LimitsConfig } from '../schema/index.ts';
import type { BucketModel, LimitRouteModel } from './limits-model.ts';
import type { OwnRoute, RouteModel, RouteOfFile } from './route-model.ts';

/**
 * The parts that the next configuration may reuse, so that changing one number only recompiles one bucket. Each is kept with
 * everything that it was made from (`reuse`).
 */
export interface KeptParts {
  readonly items: KeptItems;
  /**
   * The upstreams, keyed by everything that routes depend on except their own text. If the key changes, all routes are compiled
   * again.
   */
  readonly upstreams: Kept<unknown, ReadonlyMap<string, UpstreamModel>>;
  readonly routes: KeptRoutes;
  readonly tables: KeptTables;
  readonly limits: KeptLimits;
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
  /** The items by digests of their name and value. */
  readonly byKey: ReadonlyMap<string, readonly [string, Value]>;
  readonly byName: Readonly<Record<string, Value>>;
}

/** The routes of gateway.yaml. */
export interface KeptRoutes {
  readonly bytes: Uint8Array;
  /** The items by digests of their text. */
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
  /** The literals of all patterns, including those of limits, and these patterns. */
  readonly words: PathWords;
  readonly patterns: readonly RoutePattern[];
}

/** Labels, with the values that they were made from. */
export interface KeptLabels {
  /** The same object as before if nothing changed. */
  readonly model: LabelModel;
  readonly table: RouteTable<RouteModel>;
  readonly ofRoutes: Kept<unknown, LabelsOfRoutes>;
  readonly ofBuckets: Kept<unknown, ReadonlyMap<BucketModel, readonly BucketLabels[]>>;
}

type LabelsOfRoutes = Pick<LabelModel, 'routes' | 'webSocketUpstreams' | 'introspects'>;

export interface KeptLimits<Shared = unknown> {
  /** The data that all buckets share, keyed by everything that they depend on except their own text. */
  readonly shared: Kept<unknown, Shared>;
  /** The buckets by name, each keyed by its own text and that of its lines. */
  readonly buckets: ReadonlyMap<string, Kept<unknown, BucketModel>>;
  readonly written: WrittenLines;
  /** The lines of `routes:` as written. */
  readonly lines: ReadonlyMap<string, RouteEntry<LimitRouteModel>>;
  readonly entries: readonly RouteEntry<LimitRouteModel>[];
  readonly table: RouteTable<LimitRouteModel>;
}

/** The lines of `routes:`, and data derived only from them. */
export interface WrittenLines {
  readonly lines: LimitsConfig['routes'];
  readonly patterns: ReadonlyMap<string, RoutePattern>;
  readonly ofBuckets: ReadonlyMap<string, readonly [string, LimitsConfig['routes'][string]][]>;
}
