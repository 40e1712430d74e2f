import type { RouteEntry } from '../../routing/index.ts';
import type { EffectiveConfig } from '../effective-config.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import type { ForwardRoute, OwnRoute } from './route-model.ts';

/** A configuration as the operator wrote it, to explain it and to compare it with others. */
export interface Outline {
  /** The keys of gateway.yaml, without its routes, by path: `caps.requests`. */
  readonly settings: ReadonlyMap<string, Setting>;
  /** The routes of gateway.yaml in file order. */
  readonly routes: readonly WrittenRoute[];
  /** The gateway's own. */
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  /** limits.yaml with all defaults. */
  readonly limits: LimitsConfig;
  /** Where the keys of limits.yaml are written. */
  readonly places: KeyPlaces;
  /** To show it. */
  readonly effective: EffectiveConfig;
}

/** A route of gateway.yaml with its pattern and where it is written. */
export interface WrittenRoute extends RouteEntry<ForwardRoute> {
  readonly place: FilePlace;
}

export interface Setting {
  /** The value as it is written; null: it may be a secret. */
  readonly shown: string | null;
  /** Equal for equal values. Reveals nothing of a secret. */
  readonly digest: string;
  /** In the unit of its key; null: not a number. */
  readonly size: number | null;
}
