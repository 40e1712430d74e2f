import type { PoolModel } from '../config/index.ts';
import type { GatewayError, PoolName } from '../core/index.ts';

/** Counts what is in flight for all clients together, up to a cap. */
export interface CommonPermits {
  /** Counts one more, and returns true; false if `cap` are in flight already. */
  take(cap: number): boolean;
  giveBack(): void;
}

/** Counts what is in flight under each key, up to a cap. */
export interface Permits {
  /** Counts one more, and returns true; false if `cap` are in flight under this key already. */
  take(key: string, cap: number): boolean;
  giveBack(key: string): void;
}

/**
 * - `full`: the upstream is at its cap for this kind of request
 * - `share taken`: this caller has used its share of that cap
 */
type PoolCap = 'full' | 'share taken';

/** Why an upstream takes no further request, or none from this caller. */
export interface NoRoom {
  readonly upstream: string;
  readonly error: GatewayError;
}

/** The place of one exchange among those of its kind to its upstream. */
export interface UpstreamPermit {
  /** May be called again. */
  giveBack(): void;
}

/** Counts what is in flight to each upstream, by kind of exchange: for all callers together, and for each. */
export interface UpstreamPermits {
  /** Returns the permit, or the cap that is met. */
  take(pool: PoolModel, caller: string): UpstreamPermit | PoolCap;
  /** How many exchanges of this kind are in flight to this upstream. */
  taken(upstream: string, pool: PoolName): number;
}

/** The permits that exchanges take. Several gateways may share them. */
export interface GatewayPermits {
  /** Exchanges of all addresses together. */
  readonly requests: CommonPermits;
  readonly addresses: Permits;
  readonly upstreams: UpstreamPermits;
}

/** Makes the permits of one process. */
export function processPermits(): GatewayPermits {
  return {
    requests: new ProcessCommonPermits(),
    addresses: new ProcessPermits(),
    upstreams: new ProcessUpstreamPermits(),
  };
}

/** Counts in this process. */
export class ProcessCommonPermits implements CommonPermits {
  #inFlight = 0;

  take(cap: number): boolean {
    if (this.#inFlight >= cap) return false;
    this.#inFlight++;
    return true;
  }

  giveBack(): void {
    this.#inFlight--;
  }
}

/** Counts in this process. Holds only keys in use. */
export class ProcessPermits implements Permits {
  readonly #inFlight = new Map<string, number>();

  take(key: string, cap: number): boolean {
    const count = this.#inFlight.get(key) ?? 0;
    if (count >= cap) return false;
    this.#inFlight.set(key, count + 1);
    return true;
  }

  giveBack(key: string): void {
    const count = this.#inFlight.get(key) ?? 0;
    if (count <= 1) this.#inFlight.delete(key);
    else this.#inFlight.set(key, count - 1);
  }
}

class ProcessUpstreamPermit implements UpstreamPermit {
  #inFlight: InFlight | null;
  readonly #caller: string;

  constructor(inFlight: InFlight, caller: string) {
    this.#inFlight = inFlight;
    this.#caller = caller;
  }

  giveBack(): void {
    if (this.#inFlight === null) return;
    this.#inFlight.all--;
    this.#inFlight.callers.giveBack(this.#caller);
    this.#inFlight = null;
  }
}

interface InFlight {
  all: number;
  readonly callers: ProcessPermits;
}

/** Counts in this process. Holds only callers with something in flight. */
class ProcessUpstreamPermits implements UpstreamPermits {
  /** Upstreams are few, and stay when nothing is in flight to them. */
  readonly #upstreams = new Map<string, Readonly<Record<PoolName, InFlight>>>();

  take({ name, upstream, max, maxPerCaller }: PoolModel, caller: string): UpstreamPermit | PoolCap {
    const inFlight = this.#to(upstream)[name];
    // Look at the share first: a caller that has used its own gets that error, even if the upstream is full as well.
    if (!inFlight.callers.take(caller, maxPerCaller)) return 'share taken';
    if (inFlight.all < max) {
      inFlight.all++;
      return new ProcessUpstreamPermit(inFlight, caller);
    }
    inFlight.callers.giveBack(caller);
    return 'full';
  }

  taken(upstream: string, pool: PoolName): number {
    return this.#to(upstream)[pool].all;
  }

  #to(upstream: string): Readonly<Record<PoolName, InFlight>> {
    let inFlight = this.#upstreams.get(upstream);
    if (inFlight === undefined) {
      inFlight = { requests: nothing(), websockets: nothing(), grpc_calls: nothing() };
      this.#upstreams.set(upstream, inFlight);
    }
    return inFlight;
  }
}

function nothing(): InFlight {
  return { all: 0, callers: new ProcessPermits() };
}
