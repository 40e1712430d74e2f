import type { AddressSet, CorsRules, ForwardingRules } from '../../http/index.ts';
import type { LabelModel, SpanExportOptions } from '../../observe/index.ts';
import type { RouteTable } from '../../routing/index.ts';
import type { CapsModel, Http2Model, LogModel, ShutdownModel, TimeoutsModel } from './bounds-model.ts';
import type { IdentityModel } from './identity-model.ts';
import type { LimitsModel, StoreModel } from './limits-model.ts';
import type { ListenModel } from './listen-model.ts';
import type { Outline } from './outline.ts';
import type { ForwardRoute, RouteModel } from './route-model.ts';
import type { UpstreamModel } from './upstream-model.ts';

/**
 * One compiled, immutable configuration. An exchange keeps the snapshot it began with; a reload replaces it as a whole. Times
 * are milliseconds, sizes bytes.
 */
export interface Snapshot {
  /** The number of this configuration in the process, from 1. */
  readonly generation: number;
  /** Hash of the files it was compiled from, 16 hex digits: equal files, equal hash. */
  readonly hash: string;
  /** Their names: gateway.yaml, then the limits files if it names any. */
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
  /** Null: preflights are ordinary requests. */
  readonly cors: CorsRules | null;
  /** Null: no identity provider; every route says `authentication: none`. */
  readonly identity: IdentityModel | null;
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly http2: Http2Model;
  readonly shutdown: ShutdownModel;
  readonly log: LogModel;
  /** Null: the gateway takes part in no traces. */
  readonly tracing: TracingModel | null;
  readonly labels: LabelModel;
  /** What a later configuration is compared with, to say what it changes. */
  readonly outline: Outline;
}

/** How the gateway takes part in traces. */
export interface TracingModel {
  /** Of new traces that are recorded, 0 to 1. */
  readonly share: number;
  /** Null: spans go nowhere. */
  readonly export: SpanExportOptions | null;
}
