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

/** Counts what is in flight to each upstream, in all and for each caller. Holds only what is in use. */
export class UpstreamPermits {
  readonly #all = new Permits();
  readonly #callers = new Map<string, Permits>();

  /** Null: the caller has a permit now. Else nothing was taken. */
  take({ name, maxRequests, maxRequestsPerCaller }: UpstreamCaps, caller: string): UpstreamCap | null {
    const callers = this.#callersOf(name);
    if (!callers.take(caller, maxRequestsPerCaller)) return 'max_requests_per_caller';
    if (this.#all.take(name, maxRequests)) return null;
    callers.giveBack(caller);
    return 'max_requests';
  }

  /** In flight to this upstream. */
  taken(name: string): number {
    return this.#all.taken(name);
  }

  giveBack(name: string, caller: string): void {
    this.#all.giveBack(name);
    this.#callersOf(name).giveBack(caller);
  }

  /** Upstreams are few, and stay when nothing is in flight to them. */
  #callersOf(name: string): Permits {
    let callers = this.#callers.get(name);
    if (callers === undefined) {
      callers = new Permits();
      this.#callers.set(name, callers);
    }
    return callers;
  }
}
