import type { GatewayError } from '../core/index.ts';
import { Permits } from './permits.ts';

/** What an upstream takes. */
export interface UpstreamCaps {
  readonly name: string;
  /** Requests in flight to it. */
  readonly maxRequests: number;
  /** Of one caller. */
  readonly maxRequestsPerCaller: number;
}

/** Which cap is met, by its key in gateway.yaml. */
export type UpstreamCap = 'max_requests' | 'max_requests_per_caller';

/** Why an upstream takes no more, or no more of this caller. */
export interface NoRoom {
  readonly upstream: string;
  readonly error: GatewayError;
}

/** The place of one exchange among the requests to its upstream. */
export class UpstreamPermit {
  #inFlight: InFlight | null;
  readonly #caller: string;

  constructor(inFlight: InFlight, caller: string) {
    this.#inFlight = inFlight;
    this.#caller = caller;
  }

  /** May be called again. */
  giveBack(): void {
    if (this.#inFlight === null) return;
    this.#inFlight.all--;
    this.#inFlight.callers.giveBack(this.#caller);
    this.#inFlight = null;
  }
}

interface InFlight {
  all: number;
  readonly callers: Permits;
}

/** Counts what is in flight to each upstream, in all and for each caller. Holds only callers with something in flight. */
export class UpstreamPermits {
  /** Upstreams are few, and stay when nothing is in flight to them. */
  readonly #upstreams = new Map<string, InFlight>();

  /** The permit, or the cap that is met. */
  take(
    { name, maxRequests, maxRequestsPerCaller }: UpstreamCaps,
    caller: string,
  ): UpstreamPermit | UpstreamCap {
    const inFlight = this.#to(name);
    // First: a caller that has its share hears of that, and not that the upstream is full.
    if (!inFlight.callers.take(caller, maxRequestsPerCaller)) return 'max_requests_per_caller';
    if (inFlight.all < maxRequests) {
      inFlight.all++;
      return new UpstreamPermit(inFlight, caller);
    }
    inFlight.callers.giveBack(caller);
    return 'max_requests';
  }

  /** In flight to this upstream. */
  taken(name: string): number {
    return this.#to(name).all;
  }

  #to(name: string): InFlight {
    let inFlight = this.#upstreams.get(name);
    if (inFlight === undefined) {
      inFlight = { all: 0, callers: new Permits() };
      this.#upstreams.set(name, inFlight);
    }
    return inFlight;
  }
}
