/** What decided about a request: the shared store, one of its recent refusals, or the policy while it is unreachable. */
export type DecidedBy = 'redis' | 'known_refusal' | 'local' | 'open' | 'closed';

/** Why a command to the shared store failed. */
export type StoreFailure = 'timeout' | 'disconnected' | 'error';

/** Hears about the health of the shared store. Called on the request's path: must be quick and must not throw. */
export interface StoreListener {
  decidedBy(who: DecidedBy): void;
  /** One command failed. `cause` is what the server or the connection said: never a key or a secret. */
  failed(failure: StoreFailure, cause: string): void;
  /** The policy decides from now on: too many commands failed, or the store could not be reached at the start. */
  lost(policy: 'local' | 'open' | 'closed', cause: string): void;
  /** The store decides, for the first time or again. `lostForMs`: how long the policy did, 0 at the start. */
  found(lostForMs: number): void;
  /** The gateway serves from now on although it could not read what the others know: restrictions and revocations. */
  behind(): void;
  /** It has read that after all. */
  caughtUp(): void;
  /** What gateways share could not be applied here, through a fault of this gateway: so many facts are skipped. */
  shareFailed(skippedFacts: number, error: unknown): void;
  /** Null: messages of the other gateways arrive. Else why Redis refuses them, so that their news are found by polling alone. */
  subscribed(refusal: string | null): void;
  /** A round trip, and how far the store's clock is ahead of this gateway's. About once a second. */
  beat(roundTripMs: number, clockAheadMs: number, replicas: number): void;
}
