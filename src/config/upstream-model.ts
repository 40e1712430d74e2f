import type { PoolName } from '../core/index.ts';
import type { UpstreamOptions, UpstreamProtocol } from '../upstream/index.ts';

/** A named service behind the gateway. */
export interface UpstreamModel {
  readonly name: string;
  readonly protocol: UpstreamProtocol;
  readonly options: UpstreamOptions;
  /** The `Host` it is sent; `null` if that is the client's. */
  readonly hostHeader: string | null;
  /** Whether it is sent the client's `Authorization`. */
  readonly passAuthorization: boolean;
  readonly pools: Readonly<Record<PoolName, PoolModel>>;
}

/** How many exchanges of one kind an upstream takes at a time; beyond either number the response is 503. */
export interface PoolModel {
  readonly name: PoolName;
  readonly upstream: string;
  readonly max: number;
  readonly maxPerCaller: number;
}
