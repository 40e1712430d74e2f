/**
 * Why an endpoint of an upstream gets no requests.
 * - `connect_failures`: ejected after several failed connects in a row
 * - `bad_answers`: ejected after several bad answers in a row: 502, 503, 504, a reset connection or none in time
 * - `check`: it failed its health checks
 */
export const OUT_REASONS = ['connect_failures', 'bad_answers', 'check'] as const;
export type OutReason = (typeof OUT_REASONS)[number];

/** An endpoint is out, or used again. */
export interface EndpointEvent {
  readonly upstream: string;
  /** Is `host:port`, with an IPv6 address in brackets. */
  readonly endpoint: string;
  /** Why it is out from now on; `null` if it is used again. */
  readonly reason: OutReason | null;
  /** What happened last, in words; `null` if that is not known. */
  readonly cause: string | null;
}

/** The addresses of an upstream have changed. */
export interface AddressesEvent {
  readonly upstream: string;
  /** Each is `host:port`. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** How many there are now. */
  readonly count: number;
}

/** Hears when the state of an endpoint of an upstream changes. Must be quick and must not throw. */
export interface UpstreamListener {
  endpointChanged(event: EndpointEvent): void;
  addressesChanged(event: AddressesEvent): void;
  /** A failed request was due for a retry. `wasAllowed`: false if the budget of retries is spent. */
  retried(upstream: string, wasAllowed: boolean): void;
  /** A name could not be looked up, for the first time since it could. Its last addresses stay in use. */
  lookupFailed(upstream: string, name: string, cause: string): void;
  /** The name can be looked up again. */
  lookupWorks(upstream: string, name: string): void;
}
