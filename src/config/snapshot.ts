import type { LabelModel } from '../observe/index.ts';
import type { FilePlace, KeyPlaces } from './file/index.ts';
import type { KeptParts } from './kept-parts.ts';
import type { LimitsConfig } from './limits/index.ts';
import type { OwnRoute, RouteOfFile } from './model/index.ts';
import type { RouteEntry } from './routing/index.ts';
import type { EffectiveConfig } from './schema/index.ts';
import type { DescriptorsModel, MemoryModel, SettingModels } from './settings/index.ts';

/**
 * One compiled, immutable configuration: the models of all settings of gateway.yaml (`settings/`), and models derived from several
 * of them. An exchange keeps the snapshot it began with; a reload replaces it completely. Times are in milliseconds, sizes in
 * bytes.
 */
export interface Snapshot extends SettingModels {
  /** The number of this configuration in the process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from, 16 hex digits: equal files, equal hash. */
  readonly hash: string;
  /** The names of these files: gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  /** What clients may take under all caps, and the memory available. */
  readonly memory: MemoryModel;
  /** The file descriptors that clients may take: `caps` are chosen so that they suffice. */
  readonly descriptors: DescriptorsModel;
  readonly labels: LabelModel;
  /** The part that a later configuration is compared with, to report changes. */
  readonly outline: Outline;
  /** The parts that the next configuration may reuse, besides those of settings. */
  readonly kept: KeptParts;
}

/** A configuration as the operator wrote it, to explain it and to compare it with others. */
export interface Outline {
  /** The keys of gateway.yaml, without its routes, by path: `caps.requests`. */
  readonly settings: ReadonlyMap<string, OutlineSetting>;
  /** The routes of gateway.yaml in file order. */
  readonly routes: readonly WrittenRoute[];
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  /** limits.yaml with all defaults. */
  readonly limits: LimitsConfig;
  /** Where the keys of limits.yaml are written. */
  readonly places: KeyPlaces;
  /** Both files with all defaults, for display. */
  readonly effective: EffectiveConfig;
}

/** A route of gateway.yaml with its pattern and where it is written. */
export interface WrittenRoute extends RouteEntry<RouteOfFile> {
  readonly place: FilePlace;
}

export interface OutlineSetting {
  /** The keys that lead to it, with a provider's name instead of its index. */
  readonly path: readonly (string | number)[];
  /** The value as written; `null` if it may be a secret. */
  readonly shown: string | null;
  /** A digest that is equal for equal values. Reveals nothing about a secret. */
  readonly digest: string;
  /** The number in the unit of its key; `null` if it is not a number. */
  readonly size: number | null;
}
