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
