/**
 * Why an endpoint of an upstream gets no requests.
 * - `connect_failures`: ejected after several consecutive failed connects
 * - `bad_answers`: ejected after several consecutive bad answers: 502, 503, 504, a reset connection or none in time
 * - `check`: it failed its health checks
 */
export const OUT_REASONS = ['connect_failures', 'bad_answers', 'check'] as const;
export type OutReason = (typeof OUT_REASONS)[number];

/** An endpoint is out, or in use again. */
export interface EndpointEvent {
  readonly upstream: string;
  /** `host:port`, with an IPv6 address in brackets. */
  readonly endpoint: string;
  /** Why it is out from now on; `null` if it is in use again. */
  readonly reason: OutReason | null;
  /** The last failure in words; `null` if unknown. */
  readonly cause: string | null;
}

export interface AddressesEvent {
  readonly upstream: string;
  /** Each is `host:port`. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** How many there are now. */
  readonly count: number;
}

/** Is notified when the state of an upstream's endpoint changes. Must be quick and must not throw. */
export interface UpstreamListener {
  endpointChanged(event: EndpointEvent): void;
  addressesChanged(event: AddressesEvent): void;
  /** A failed request was due for a retry. `wasAllowed`: false if the retry budget is spent. */
  retried(upstream: string, wasAllowed: boolean): void;
  /** A name could not be looked up, for the first time since a success. Its last addresses stay in use. */
  lookupFailed(upstream: string, name: string, cause: string): void;
  /** The name can be looked up again. */
  lookupWorks(upstream: string, name: string): void;
}
