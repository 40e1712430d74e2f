import type { EndpointAddress } from './transport.ts';

/** One address of an upstream, as its source names it. */
export interface SourcedEndpoint extends EndpointAddress {
  /** An IP address, or a name that the system looks up when it connects. */
  readonly host: string;
  /** Its share of the requests, relative to the others: a number above 0. */
  readonly weight: number;
  /** The host of the configured URL. Certificates are verified for it, never for what DNS answered. */
  readonly name: string;
}

/**
 * Says which addresses an upstream has, and when they change: those that the configuration lists, or those of a name.
 *
 * An endpoint of two lists is the same one if host and port are the same.
 */
export interface EndpointSource {
  /** The addresses that requests may go to now. Each change makes a new list. Empty while a name has not been looked up yet. */
  readonly endpoints: readonly SourcedEndpoint[];
  /** Why the last lookup found nothing, so that the list is empty or old; `null` if it did not fail. */
  readonly fault: Error | null;
  /** Begins to look names up. Calls back after each change of the list, never from within this call. */
  start(changed: () => void): void;
  /**
   * Looks again soon, since no connection could be made to this endpoint, or since there is none (`null`). Resolves, never
   * rejects, when a request may try the list of then: at once where looking again would tell nothing new.
   */
  refresh(failed: EndpointAddress | null): Promise<void>;
  /** Stops looking names up. */
  close(): void;
}

/** The addresses that the configuration lists. They do not change. */
export class FixedEndpoints implements EndpointSource {
  readonly endpoints: readonly SourcedEndpoint[];
  readonly fault = null;

  constructor(endpoints: readonly SourcedEndpoint[]) {
    this.endpoints = endpoints;
  }

  start(): void {}

  refresh(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}
