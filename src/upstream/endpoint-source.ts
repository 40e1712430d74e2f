import type { EndpointAddress } from './transport.ts';

/** One address of an upstream, as its source names it. */
export interface SourcedEndpoint extends EndpointAddress {
  /** An IP address, or a name that the system looks up when it connects. */
  readonly host: string;
  /** Its share of the requests, relative to others: a number above 0. */
  readonly weight: number;
  /** The host of the configured URL. Certificates are verified for it, never for DNS results. */
  readonly name: string;
}

/**
 * The addresses of an upstream, which may change: those that the configuration lists, or those of a name.
 *
 * Endpoints in two lists are the same if host and port are the same.
 */
export interface EndpointSource {
  /** The addresses that requests may go to now. Each change makes a new list. Empty until a name has been looked up. */
  readonly endpoints: readonly SourcedEndpoint[];
  /** Why the last lookup failed, so that the list is empty or outdated; `null` if it did not fail. */
  readonly fault: Error | null;
  /** Begins to look up names. Calls back after each change of the list, never from within this call. */
  start(changed: () => void): void;
  /**
   * Looks up names again soon, because no connection could be made to this endpoint, or because there is none (`null`). Resolves,
   * never rejects, when a request may try the list at that time: immediately if a lookup would find nothing new.
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
