import type { PoolModel } from '../config/index.ts';
import {
  type GatewayError,
  type NewPermits,
  type Permits,
  POOL_NAMES,
  type PoolName,
} from '../core/index.ts';

/** Why an upstream takes no further request, or none from this caller. */
export interface NoRoom {
  readonly upstream: string;
  readonly error: GatewayError;
}

/** The place of one exchange among those of its kind to its upstream. */
export class UpstreamPermit {
  #permits: Permits | null;
  readonly #caller: string;

  constructor(permits: Permits, caller: string) {
    this.#permits = permits;
    this.#caller = caller;
  }

  /** May be called again. */
  giveBack(): void {
    this.#permits?.giveBack(this.#caller);
    this.#permits = null;
  }
}

/** Counts what is in flight to each upstream, by kind of exchange: for all callers together, and for each. */
export class UpstreamPermits {
  readonly #newPermits: NewPermits;
  /** Upstreams are few, and stay when nothing is in flight to them. */
  readonly #upstreams = new Map<string, Readonly<Record<PoolName, Permits>>>();

  constructor(newPermits: NewPermits) {
    this.#newPermits = newPermits;
  }

  /** Returns the permit, or the cap that is met. A caller that has used its share is told so, even if the upstream is full as well. */
  take(
    { name, upstream, max, maxPerCaller }: PoolModel,
    caller: string,
  ): UpstreamPermit | 'full' | 'share taken' {
    const permits = this.#to(upstream)[name];
    const none = permits.take(caller, max, maxPerCaller);
    if (none === null) return new UpstreamPermit(permits, caller);
    return none === 'full' ? 'full' : 'share taken';
  }

  /** How many exchanges are in flight to this upstream, calls and WebSockets included. */
  taken(upstream: string): number {
    const permits = this.#to(upstream);
    return POOL_NAMES.reduce((sum, pool) => sum + permits[pool].taken, 0);
  }

  #to(upstream: string): Readonly<Record<PoolName, Permits>> {
    let permits = this.#upstreams.get(upstream);
    if (permits === undefined) {
      const of = (pool: PoolName) => this.#newPermits(`${pool} to ${upstream}`);
      permits = { requests: of('requests'), websockets: of('websockets'), grpc_calls: of('grpc_calls') };
      this.#upstreams.set(upstream, permits);
    }
    return permits;
  }
}
