import type { AddressSet, CorsRules, ForwardingRules } from '../../http/index.ts';
import type { LabelModel, SpanExportOptions } from '../../observe/index.ts';
import type { RouteEntry, RouteTable } from '../../routing/index.ts';
import type { EffectiveConfig } from '../effective-config.ts';
import type { FilePlace, KeyPlaces } from '../file/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import type { UpstreamModel } from '../upstream-model.ts';
import type { CapsModel, Http2Model, LogModel, ShutdownModel, TimeoutsModel } from './bounds-model.ts';
import type { IdentityModel } from './identity-model.ts';
import type { LimitsModel, StoreModel } from './limits-model.ts';
import type { ListenModel } from './listen-model.ts';
import type { ForwardRoute, OwnRoute, RouteModel } from './route-model.ts';

/**
 * One compiled, immutable configuration. An exchange keeps the snapshot it began with; a reload replaces it as a whole. Times
 * are milliseconds, sizes bytes.
 */
export interface Snapshot {
  /** The number of this configuration in the process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from, 16 hex digits: equal files, equal hash. */
  readonly hash: string;
  /** The names of these files: gateway.yaml, then the limits files if it names any. */
  readonly files: readonly string[];
  readonly listen: ListenModel;
  /** Networks whose `X-Forwarded-*` and `X-Request-Id` are trusted. */
  readonly trustedProxies: AddressSet;
  readonly forwarding: ForwardingRules;
  readonly upstreams: readonly UpstreamModel[];
  readonly routes: RouteTable<RouteModel>;
  /** Routes whose services answer preflights, by the requested method; empty if `cors` is off. */
  readonly preflightRoutes: RouteTable<ForwardRoute>;
  readonly limits: LimitsModel;
  readonly store: StoreModel;
  /** How preflights are answered; `null` if they are ordinary requests. */
  readonly cors: CorsRules | null;
  /** `null` without an identity provider; then every route says `authentication: none`. */
  readonly identity: IdentityModel | null;
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly http2: Http2Model;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
  /** `null` if the gateway takes part in no traces. */
  readonly tracing: TracingModel | null;
  readonly labels: LabelModel;
  /** The part that a later configuration is compared with, to say what it changes. */
  readonly outline: Outline;
}

/** How the gateway takes part in traces. */
interface TracingModel {
  /** The share of new traces that are recorded, 0 to 1. */
  readonly share: number;
  /** Where spans are sent; `null` if nowhere. */
  readonly export: SpanExportOptions | null;
}

/** A configuration as the operator wrote it, to explain it and to compare it with others. */
export interface Outline {
  /** The keys of gateway.yaml, without its routes, by path: `caps.requests`. */
  readonly settings: ReadonlyMap<string, OutlineSetting>;
  /** The routes of gateway.yaml in file order. */
  readonly routes: readonly WrittenRoute[];
  /** The gateway's own routes. */
  readonly ownRoutes: readonly RouteEntry<OwnRoute>[];
  /** limits.yaml with all defaults. */
  readonly limits: LimitsConfig;
  /** Where the keys of limits.yaml are written. */
  readonly places: KeyPlaces;
  /** Both files with all defaults, for people to read. */
  readonly effective: EffectiveConfig;
}

/** A route of gateway.yaml with its pattern and where it is written. */
export interface WrittenRoute extends RouteEntry<ForwardRoute> {
  readonly place: FilePlace;
}

export interface OutlineSetting {
  /** The value as it is written; `null` if it may be a secret. */
  readonly shown: string | null;
  /** A digest that is equal for equal values. Reveals nothing of a secret. */
  readonly digest: string;
  /** The number in the unit of its key; `null` if it is no number. */
  readonly size: number | null;
}
