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

interface InFlight {
  all: number;
  readonly callers: Permits;
}

/** Counts what is in flight to each upstream, in all and for each caller. Holds only callers with something in flight. */
export class UpstreamPermits {
  /** Upstreams are few, and stay when nothing is in flight to them. */
  readonly #upstreams = new Map<string, InFlight>();

  /** Null: the caller has a permit now. Else nothing was taken. */
  take({ name, maxRequests, maxRequestsPerCaller }: UpstreamCaps, caller: string): UpstreamCap | null {
    const inFlight = this.#to(name);
    // Asked first: a caller that holds its share should hear of that, not that the upstream is full.
    if (!inFlight.callers.take(caller, maxRequestsPerCaller)) return 'max_requests_per_caller';
    if (inFlight.all < maxRequests) {
      inFlight.all++;
      return null;
    }
    inFlight.callers.giveBack(caller);
    return 'max_requests';
  }

  /** In flight to this upstream. */
  taken(name: string): number {
    return this.#to(name).all;
  }

  giveBack(name: string, caller: string): void {
    const inFlight = this.#to(name);
    inFlight.all--;
    inFlight.callers.giveBack(caller);
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
