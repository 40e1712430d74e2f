/** What was decided about a request. */
export interface DecisionEvent {
  /** The bucket as configured; null: the request has none. */
  readonly bucket: string | null;
  readonly callerClass: 'bot' | 'user' | 'address';
  /** The principal or the address that is counted. Identifies a person: never write a principal unhashed. */
  readonly caller: string;
  /** `admitted`, or the limit that refused. */
  readonly outcome: 'admitted' | 'global' | 'caller' | 'resource';
  /** At least 80 % of the limit described is used up. */
  readonly nearLimit: boolean;
}

/** Why something is restricted, by its key in limits.yaml; `operator`: somebody added it by the admin API. */
export type RestrictionReason = 'invalid_requests' | 'webhook_not_found' | 'ignored_refusals' | 'operator';

/** A restriction refused a request, or `blocked` in limits.yaml did: before a bucket was looked up. */
export interface RestrictionRefusal {
  readonly callerClass: 'bot' | 'user' | 'address';
  /** As in `DecisionEvent`. */
  readonly caller: string;
  readonly why: RestrictionReason | 'blocked';
}

/** What would have refused a request if it were not in shadow: one of its limits, or a restriction. */
export type ShadowRefuser = 'global' | 'caller' | 'resource' | RestrictionReason;

/** A request went on that something in shadow would have refused. */
export interface ShadowEvent {
  /** The bucket as configured; null: the request has none. */
  readonly bucket: string | null;
  readonly callerClass: 'bot' | 'user' | 'address';
  readonly by: ShadowRefuser;
}

/** A temporary refusal. Metrics use its kind and reason only. */
export interface RestrictionEvent {
  readonly kind: 'address' | 'principal' | 'webhook';
  readonly reason: RestrictionReason;
  /** The address or principal: for the log. */
  readonly key: string;
  readonly untilEpochMs: number;
}

/** A restriction that had to give way. `key` is null if its client has not been seen by this gateway. */
export interface EvictionEvent extends Omit<RestrictionEvent, 'key'> {
  readonly key: string | null;
  readonly table: 'operator' | 'principal' | 'address' | 'webhook';
}

/**
 * How holding a request ended: decided anew, or its client went away. `no_room`: it was decided at once because too many are held.
 */
export type HeldOutcome = 'admitted' | 'refused' | 'abandoned' | 'no_room';

/** Hears what limits and restrictions do. Must be quick and must not throw. */
export interface LimitListener {
  decided(event: DecisionEvent): void;
  /** Refused before its limits were asked, so that nothing was decided. */
  refusedByRestriction(event: RestrictionRefusal): void;
  /** Called once for each that would have refused the request. */
  shadowRefused(event: ShadowEvent): void;
  /** A request was held until a limit had room again, or was to be. */
  held(outcome: HeldOutcome): void;
  /** A restriction would have begun if its rule were not in shadow. */
  shadowRestricted(event: RestrictionEvent): void;
  /** A request ended invalid: 401, 403 or 429. */
  invalid(status: number): void;
  restricted(event: RestrictionEvent): void;
  /** A restriction in force ends later than announced, maybe for another reason. */
  prolonged(event: RestrictionEvent): void;
  released(event: RestrictionEvent): void;
  /** A restriction was given up early because its table was full and another one began. */
  evicted(event: EvictionEvent): void;
}

/** Hears when the gateway sheds. Must be quick and must not throw. */
export interface OverloadListener {
  /** New work is refused from now on. `delayMs`: how late the event loop is, on the average of a second. */
  began(delayMs: number): void;
  /** All requests are served again. `refused`: those that were not. */
  ended(lastedMs: number, refused: number): void;
}

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
